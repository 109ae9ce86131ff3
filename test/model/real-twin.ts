import { FakeLink } from '../../lab/wire/fake-link.ts';
import { connectResponse } from '../../lab/servers/fake-server.ts';
import { Agenda, cancel, phases } from '../../lab/virtual/agenda.ts';
import type { Clock } from '../../src/support/clock.ts';
import { checkServers, sync } from '../../src/zookeeper/operations.ts';
import { Session, type Holding } from '../../src/zookeeper/session.ts';
import type { SessionEnd } from '../../src/zookeeper/session-owner.ts';
import { Writer } from '../../src/zookeeper/wire.ts';
import type { Act, SessionScript } from './session-script.ts';
import type { Kind } from './messages.ts';
import { TwinLog, type TwinSession } from './twin-log.ts';

/** Lets the script happen to the session of src. Returns what the session did. */
export function runSession(script: SessionScript): Promise<readonly string[]> {
  return new RealTwin(script).run();
}

// After a stall, Node.js may run the timers or read the sockets first. The model reads the socket first.
const phase = { socket: phases.timer, timer: phases.socket, poll: phases.check } as const;

class RealTwin {
  readonly #script: SessionScript;
  readonly #agenda = new Agenda();
  readonly #log: TwinLog;
  readonly #process = { stalledUntil: 0, isDead: false };
  readonly #session: Session;
  readonly #twin: TwinSession;
  #link = new FakeLink();
  /** The number of frames that this connection has sent. */
  #frames = 0;
  #lastAnswerAt = 0;

  constructor(script: SessionScript) {
    this.#script = script;
    const agenda = this.#agenda;
    this.#log = new TwinLog(script, () => agenda.now);
    const clock: Clock = {
      now: () => agenda.now,
      after: (delayMs, run) => {
        const entry = agenda.add(agenda.now + delayMs, phase.timer, this.#process, run);
        return () => cancel(entry);
      },
      afterPoll: (run) => void agenda.add(agenda.now, phase.poll, this.#process, run),
      wall: () => agenda.now,
    };
    const ignore = (): void => undefined;
    this.#session = new Session(
      {
        // So many that no round ends: the model has no pauses between the rounds.
        hosts: Array.from({ length: 1_000 }, (_, index) => ({ host: `h${index}`, port: 2181 })),
        chroot: '',
        auth: [],
        sessionTimeoutMs: script.timeoutMs,
        tickTimeMs: script.tickTimeMs,
        connectBy: 0,
        clock,
        random: () => 0,
        network: { connect: ({ host }) => this.#connect(Number(host.slice(1))) },
      },
      {
        connected: ignore,
        answered: ignore,
        suspended: ignore,
        overdue: ignore,
        unanswered: ignore,
        settled: ignore,
        warn: (message, error) => {
          throw new Error(message, { cause: error });
        },
        ended: (_, why) => this.#ended(why),
      },
    );
    if (script.hasZnodes) this.#session.znodes = 1;
    this.#twin = twinOf(this.#session);
  }

  async run(): Promise<readonly string[]> {
    const { acts, endsAt } = this.#script;
    for (const act of acts) this.#agenda.add(act.at, phase.timer, undefined, () => this.#act(act));
    for (;;) {
      const event = this.#log.isOver ? undefined : this.#agenda.take(endsAt);
      if (event === undefined) break;
      event.run();
      await new Promise((resolve) => setImmediate(resolve));
      this.#receive();
      if (this.#session.id !== 0n) this.#log.look(this.#twin);
    }
    this.#session.abandon();
    return this.#log.lines;
  }

  #ended(why: SessionEnd): void {
    if (why !== 'closed') this.#log.end(why);
  }

  #act(act: Act): void {
    this.#log.act(act, this.#twin);
    if (act.does === 'cut') this.#link.destroy(new Error('read ECONNRESET'));
    if (act.does === 'stall') this.#process.stalledUntil = act.at + act.forMs;
  }

  #connect(server: number): FakeLink {
    const link = new FakeLink();
    this.#link = link;
    this.#frames = 0;
    this.#lastAnswerAt = 0;
    const { afterMs, is, timeoutMs } = this.#log.connects(server);
    const at = this.#agenda.now + afterMs;
    this.#agenda.add(this.#agenda.now, phase.socket, this.#process, () => link.emit('connect'));
    if (is === 'refused') this.#arrive(at, () => link.destroy(new Error('read ECONNRESET')));
    else this.#arrive(at, () => link.emit('data', connectResponse({ timeoutMs: is === 'granted' ? timeoutMs : 0 })));
    return link;
  }

  /** Reads what the session has sent in this turn. */
  #receive(): void {
    const bytes = Buffer.concat(this.#link.written.splice(0));
    for (let from = 0; from < bytes.length; from += 4 + bytes.readInt32BE(from)) {
      // The first frame of a connection is the ConnectRequest.
      if ((this.#frames += 1) > 1) this.#answer(bytes.readInt32BE(from + 4), bytes.readInt32BE(from + 8));
    }
  }

  #answer(xid: number, opcode: number): void {
    const answer = new Writer().int(xid).long(1n).int(0);
    const kind = kinds[opcode] ?? `opcode ${opcode}`;
    if (kind === 'sync') answer.text('/');
    if (kind === 'write') for (let part = 0; part < mostParts; part += 1) answer.int(checkOpcode).flag(false).int(0);
    const frame = answer.frame();
    const link = this.#link;
    this.#arrive(this.#log.sends(kind), () => link.emit('data', frame));
  }

  #arrive(at: number, arrive: () => void): void {
    const link = this.#link;
    this.#lastAnswerAt = Math.max(this.#lastAnswerAt, at);
    this.#agenda.add(this.#lastAnswerAt, phase.socket, this.#process, () => {
      if (!link.destroyed) arrive();
    });
  }
}

const checkOpcode = 13;
const kinds: Partial<Record<number, string>> = { 9: 'sync', 11: 'ping', 14: 'write' };

/** The client reads only as many results as its transaction has parts: one for each hold. */
const mostParts = 30;

function twinOf(session: Session): TwinSession {
  const holds: Holding[] = [];
  const waiters: (() => void)[] = [];
  const ignore = (): void => undefined;
  return {
    get isConnected() {
      return session.isConnected;
    },
    get deadline() {
      return session.deadline;
    },
    get endsAt() {
      return session.endsAt;
    },
    get needed() {
      return session.hasTimeToGrant ? 'nothing' : session.isStale ? 'attach' : 'write';
    },
    hold: () => {
      const path = `/lock/${holds.length}`;
      const calls = { markLost: ignore, tellLost: ignore, znodeDeleted: ignore };
      session.hold(holds[holds.push({ path, heldSince: 0, isInner: false, ...calls }) - 1] as Holding);
    },
    release: () => session.settle(holds.pop() as Holding),
    keepProven: () => void waiters.push(session.keepProven()),
    needNoMore: () => waiters.pop()?.(),
    prove: () => void session.prove().catch(ignore),
    attach: () => void session.attach(),
    request: (kind: Kind) => void session.request<unknown>(kind === 'write' ? checkServers() : sync('/')).catch(ignore),
  };
}
