import { Agenda, type Due } from './agenda.ts';
import type { FromClient } from './messages.ts';
import { SessionShell } from './session-shell.ts';
import type { Act, SessionScript } from './session-script.ts';
import { TwinLog } from './twin-log.ts';

/** Lets the script happen to the model of a session. Returns what the model did. */
export function runModel(script: SessionScript): readonly string[] {
  return new ModelTwin(script).run();
}

class ModelTwin {
  readonly #script: SessionScript;
  readonly #agenda = new Agenda();
  readonly #log: TwinLog;
  /** The answers under way, on the present connection. */
  readonly #answers: { readonly at: number; readonly arrive: () => void }[] = [];
  readonly #socket: Due;
  readonly #session: SessionShell;
  #server = 0;
  #stalledUntil = 0;

  constructor(script: SessionScript) {
    this.#script = script;
    this.#log = new TwinLog(script, () => this.#agenda.now);
    // The order counts at the end of a stall: the socket comes first.
    this.#socket = this.#agenda.add(() => this.#answers.shift()?.arrive());
    this.#session = new SessionShell({
      agenda: this.#agenda,
      rate: 1,
      tickTimeMs: script.tickTimeMs,
      attemptMs: Infinity,
      heartbeat: ['write', 'sync'],
      silenceMs: undefined,
      hasZnodes: () => script.hasZnodes,
      send: (message) => this.#sent(message),
      moveOn: () => {
        this.#server += 1;
        return 0;
      },
      tell: () => undefined,
      answered: () => undefined,
      ended: (why) => this.#log.end(why),
    });
  }

  run(): readonly string[] {
    const { acts, endsAt } = this.#script;
    const { afterMs, timeoutMs } = this.#log.connects(0);
    this.#agenda.add(() => this.#session.start(0, timeoutMs)).at = afterMs;
    for (const act of acts) this.#agenda.add(() => this.#act(act)).at = act.at;
    while (!this.#log.isOver && this.#agenda.step(endsAt)) {
      this.#log.look(this.#session);
      this.#socket.at = Math.max(this.#answers[0]?.at ?? Infinity, this.#stalledUntil);
    }
    return this.#log.lines;
  }

  #act(act: Act): void {
    this.#log.act(act, this.#session);
    if (act.does === 'cut') this.#session.leave();
    if (act.does !== 'stall') return;
    this.#stalledUntil = act.at + act.forMs;
    for (const due of this.#session.dues) due.at = Math.max(due.at, this.#stalledUntil);
  }

  #sent(message: FromClient): void {
    const { connection } = message.is === 'request' ? message.request : message;
    if (message.is === 'end') {
      this.#answers.length = 0;
    } else if (message.is === 'request') {
      const { kind } = message.request;
      this.#answer(this.#log.sends(kind === 'read' ? 'ping' : kind), { is: 'answer', connection });
    } else {
      const { afterMs, is, timeoutMs } = this.#log.connects(this.#server);
      const at = this.#agenda.now + afterMs;
      if (is === 'granted') this.#answer(at, { is: 'connected', connection, timeoutMs });
      else this.#answer(at, { is: is === 'refused' ? 'end' : 'expired', connection });
    }
  }

  #answer(at: number, message: Parameters<SessionShell['receive']>[0]): void {
    this.#answers.push({
      at: Math.max(at, this.#answers.at(-1)?.at ?? 0),
      arrive: () => this.#session.receive(message),
    });
  }
}
