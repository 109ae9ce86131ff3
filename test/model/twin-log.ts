import type { BeforeGrant } from '../../src/zookeeper/proof-schedule.ts';
import type { Kind } from './messages.ts';
import type { Act, ConnectReply, SessionScript } from './session-script.ts';

/** A session to which a script happens: the one of src or its model. */
export interface TwinSession {
  readonly isConnected: boolean;
  readonly deadline: number;
  readonly endsAt: number;
  readonly needed: BeforeGrant;
  hold(): void;
  release(): void;
  keepProven(): void;
  needNoMore(): void;
  prove(): void;
  attach(): void;
  request(kind: Kind): void;
}

/** The log of what one session does when a script happens to it. */
export class TwinLog {
  readonly lines: string[] = [];
  readonly #script: SessionScript;
  readonly #now: () => number;
  #seen = '';
  #connections = 0;
  #requests = 0;
  #holds = 0;
  #waiters = 0;
  /** The session has ended, or its hold is lost. */
  isOver = false;

  constructor(script: SessionScript, now: () => number) {
    this.#script = script;
    this.#now = now;
  }

  get holds(): number {
    return this.#holds;
  }

  note(text: string): void {
    if (!this.isOver) this.lines.push(`${this.#now()}: ${text}`);
  }

  end(why: string): void {
    this.note(why);
    this.isOver = true;
  }

  connects(to: number): ConnectReply {
    this.note(`connects to server ${to}`);
    return next(this.#script.replies, this.#connections++);
  }

  /** Returns the time of the answer. */
  sends(what: string): number {
    this.note(`sends ${what}`);
    return this.#now() + next(this.#script.answerMs, this.#requests++);
  }

  /** After each event. */
  look({ isConnected, deadline, endsAt }: TwinSession): void {
    const seen = `${isConnected ? 'connected' : 'suspended'}, deadline ${deadline}, ends at ${endsAt}`;
    if (seen !== this.#seen) this.note(seen);
    this.#seen = seen;
  }

  act({ does }: Act, session: TwinSession): void {
    this.note(`${does}, needs ${session.needed}`);
    switch (does) {
      case 'lock':
        if (session.isConnected && session.needed === 'nothing') this.#lock(session);
        else session.prove();
        return;
      case 'unlock':
        if (this.#holds === 0) return;
        this.#holds -= 1;
        session.release();
        return;
      case 'move up':
        this.#waiters += 1;
        session.keepProven();
        return;
      case 'stop waiting':
        if (this.#waiters === 0) return;
        this.#waiters -= 1;
        session.needNoMore();
        return;
      case 'prove':
        session.prove();
        return;
      case 'attach':
        session.attach();
        return;
      case 'write':
      case 'sync':
        session.request(does);
        return;
      case 'cut':
      case 'stall':
    }
  }

  #lock(session: TwinSession): void {
    this.#holds += 1;
    session.hold();
  }
}

function next<T>(values: readonly T[], index: number): T {
  return values[index % values.length] as T;
}
