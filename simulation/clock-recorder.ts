import { deadlineOf, type ClockEvent, type SessionProof } from '../src/zookeeper/session/session-clock.ts';
import type { Fact } from '../src/zookeeper/session/session-life.ts';
import { SessionShell } from '../src/zookeeper/session/session-shell.ts';
import type { Session } from '../src/zookeeper/session/session.ts';

/** An event from which the clock of a session learned, and the facts that it knew afterwards. */
export interface ClockStep {
  readonly event: ClockEvent;
  proof: SessionProof;
}

/** Records what the clocks of all sessions learn, until it is disposed of. It reads the facts that each session is fed. */
export class ClockRecorder implements Disposable {
  readonly #steps = new Map<SessionShell<Session>, ClockStep[]>();
  readonly #feed = Reflect.get(SessionShell.prototype, 'feed');

  constructor() {
    const [feed, note] = [this.#feed, this.#note.bind(this)];
    SessionShell.prototype.feed = function (this: SessionShell<Session>, fact) {
      note(this, fact);
      feed.call(this, fact);
    };
  }

  [Symbol.dispose](): void {
    SessionShell.prototype.feed = this.#feed;
  }

  /** The steps of each session that learned anything, in their order. */
  sessions(): readonly (readonly ClockStep[])[] {
    for (const shell of this.#steps.keys()) this.#close(shell);
    return [...this.#steps.values()].filter(({ length }) => length > 0);
  }

  #note(shell: SessionShell<Session>, fact: Fact): void {
    const event = eventOf(fact);
    if (event === undefined) return;
    this.#close(shell);
    const steps = this.#steps.get(shell) ?? [];
    this.#steps.set(shell, [...steps, { event, proof: shell.life.proof }]);
  }

  /** An order of the last step may feed the next one. So the facts after a step are read before the next one. */
  #close(shell: SessionShell<Session>): void {
    const last = this.#steps.get(shell)?.at(-1);
    if (last) last.proof = shell.life.proof;
  }
}

/** The module with which TLC checks the steps of some sessions, all with the same timeout. */
export function clockModel(sessions: readonly (readonly ClockStep[])[], terms: ClockTerms): Model {
  const traces = sessions.map((steps) => `<<${recordsOf(steps).join(',\n  ')}>>`);
  return {
    of: 'Clock',
    data: dataModule('Clock', `Traces == <<${traces.join(',\n')}>>`),
    config: [
      'CONSTANTS',
      `  Timeout = ${halves(terms.timeoutMs)}`,
      `  Margin = ${halves(terms.timeoutMs / 10)}`,
      `  Relay = ${halves(terms.relayMs)}`,
      '  Skew = 0  Window = 0  MostUp = 0  Kinds = {}  Rule = "real"',
      'SPECIFICATION TraceSpec',
      'INVARIANTS Agrees Fits',
      'CHECK_DEADLOCK FALSE',
      '',
    ].join('\n'),
  };
}

export interface ClockTerms {
  readonly timeoutMs: number;
  readonly relayMs: number;
}

/** A trace for TLC: the data for the module `ClockTrace` or `QueueTrace`, and the configuration of the check. */
export interface Model {
  readonly of: 'Clock' | 'Queue';
  readonly data: string;
  readonly config: string;
}

export function dataModule(of: Model['of'], text: string): string {
  return `---- MODULE ${of}Data ----\nEXTENDS Integers\n${text}\n====\n`;
}

function eventOf(fact: Fact): ClockEvent | undefined {
  if (fact.is === 'cut') return { is: 'disconnected' };
  return fact.is === 'granted' || fact.is === 'answered' ? fact : undefined;
}

/** A request that is sent at the reading of an answer is sent behind it. So it gets the second half of a microsecond. */
function recordsOf(steps: readonly ClockStep[]): string[] {
  const first = steps.find(({ event }) => event.is !== 'disconnected')?.event;
  const origin = first && first.is !== 'disconnected' ? first.sentAt : 0;
  const at = (time: number): number => halves(time - origin);
  const sent = (time: number | undefined): number =>
    time === undefined || time === -Infinity ? never : halves(time - origin) + 1;
  let now = 0;
  return steps.map(({ event, proof }) => {
    const { provenAt, connectSentAt, written, relayed } = proof;
    const timeout = event.is === 'granted' ? halves(event.timeoutMs) : 0;
    const sentAt = event.is === 'disconnected' ? never : sent(event.sentAt);
    if (event.is === 'answered') now = at(event.answeredAt);
    else if (event.is === 'granted') now = Math.max(now, sentAt);
    const fields = {
      is: quoted(event.is === 'disconnected' ? 'cut' : event.is),
      kind: quoted(event.is === 'answered' ? event.kind : 'none'),
      sent: sentAt,
      at: now,
      timeout,
      proven: sent(provenAt),
      connect: sent(connectSentAt),
      written: written.length,
      relayed: relayed ? relayedOf(sent(relayed.sentAt), at(relayed.at)) : relayedOf(never, never),
      deadline: sent(deadlineOf(proof)),
    };
    return `[${Object.entries(fields)
      .map(([name, value]) => `${name} |-> ${value}`)
      .join(', ')}]`;
  });
}

function relayedOf(sent: number, at: number): string {
  return `[sent |-> ${sent}, at |-> ${at}]`;
}

export function quoted(text: string): string {
  return `"${text}"`;
}

/** TLC calculates with whole numbers below 2^31: eighteen minutes. */
function halves(ms: number): number {
  return 2 * Math.round(ms * 1_000);
}

/** As in Clock.tla. */
const never = -99;
