import type { Deadline } from '../support/deadline.js';

/**
 * Keeps the acquires of one process in the order of their calls while the parents of a path are created. Closed by the
 * first that finds them
 * missing; those who come meanwhile stand in line. Then each sends its create and passes the turn on, so that nobody
 * who comes in between
 * overtakes one who was told to go but has not gone yet.
 */
export class CreateGate {
  /** Whose create was refused: it was sent before this was closed, and so it was called before all newcomers. */
  readonly #refused: (() => void)[] = [];
  readonly #newcomers: (() => void)[] = [];
  readonly #open: () => void;
  #state: GateState = 'going';

  constructor(open: () => void) {
    this.#open = open;
  }

  /** Waits for the turn; who has it calls `letNextGo`. */
  turn(deadline: Deadline, who: 'refused' | 'newcomer' = 'newcomer'): Promise<void> {
    const line = who === 'refused' ? this.#refused : this.#newcomers;
    return deadline.wait((wake) => {
      const go = (): void => wake(undefined);
      line.push(go);
      if (this.#state === 'listening') this.letNextGo();
      return () => {
        const index = line.indexOf(go);
        if (index >= 0) line.splice(index, 1);
      };
    });
  }

  letNextGo(): void {
    const isEmptying = this.#state === 'emptying';
    const next = this.#refused.shift() ?? (isEmptying ? this.#newcomers.shift() : undefined);
    if (!isEmptying) this.#state = next ? 'going' : 'listening';
    if (next) next();
    else if (isEmptying) this.#open();
  }

  /**
   * The first create behind the parents was answered, and so were all that were sent before this was closed: one
   * connection answers in order.
   */
  settle(): void {
    const wasListening = this.#state === 'listening';
    this.#state = 'emptying';
    if (wasListening) this.letNextGo();
  }
}

type GateState =
  /** Somebody has the turn, and a create that was sent before may still be refused: newcomers wait. */
  | 'going'
  /** As `going`, and nobody has the turn: who is refused goes at once. */
  | 'listening'
  /** Nobody can be refused any more: newcomers go, too, and behind the last of them it opens. */
  | 'emptying';

/** The gates of one client. Only the closed ones are kept: a client may see more paths than it has memory for. */
export class CreateGates {
  readonly #closed = new Map<string, CreateGate>();

  /** The one that stands in the way of the client's acquires of a path; undefined while it is open. */
  closedAt(path: string): CreateGate | undefined {
    return this.#closed.get(path);
  }

  /** Closes it, until the last of its line has passed on. */
  close(path: string): CreateGate {
    const gate = new CreateGate(() => void this.#closed.delete(path));
    this.#closed.set(path, gate);
    return gate;
  }
}
