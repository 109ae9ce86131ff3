import type { Deadline } from '../support/deadline.js';

/**
 * Keeps the acquires of one process in the order of their calls while the missing parents of a path are created. The
 * first acquire that finds the parents missing closes the gate. Later acquires wait at the gate. Each acquire that is
 * let through sends its create, and then lets the next one through. So a new caller cannot overtake an acquire that was
 * let through and has not sent its create yet.
 */
export class CreateGate {
  /**
   * Acquires whose create was refused because the parents were missing. They sent it before the gate was closed, so
   * they were called before all newcomers.
   */
  readonly #refused: (() => void)[] = [];
  readonly #newcomers: (() => void)[] = [];
  readonly #open: () => void;
  #state: GateState = 'going';

  constructor(open: () => void) {
    this.#open = open;
  }

  /** Waits at the gate. The caller must call `letNextGo` once it has sent its create. */
  wait(deadline: Deadline, caller: 'refused' | 'newcomer' = 'newcomer'): Promise<void> {
    const waiters = caller === 'refused' ? this.#refused : this.#newcomers;
    return deadline.wait((wake) => {
      const go = (): void => wake(undefined);
      waiters.push(go);
      if (this.#state === 'listening') this.letNextGo();
      return () => {
        const index = waiters.indexOf(go);
        if (index >= 0) waiters.splice(index, 1);
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
   * Called when the first create behind the parents was answered. Every create that was sent before the gate was closed
   * has then been answered too, because one connection answers in order.
   */
  settle(): void {
    const wasListening = this.#state === 'listening';
    this.#state = 'emptying';
    if (wasListening) this.letNextGo();
  }
}

type GateState =
  /**
   * One acquire is about to send its create, and a create that was sent earlier may still be refused. Newcomers wait.
   */
  | 'going'
  /** As `going`, but no acquire is about to send its create. An acquire whose create is refused goes at once. */
  | 'listening'
  /** No create can be refused any more. Newcomers go too, and the gate opens behind the last of them. */
  | 'emptying';

/**
 * The gates of one client. Only the closed gates are kept, because a client may use more paths than it has memory for.
 */
export class CreateGates {
  readonly #closed = new Map<string, CreateGate>();

  /** The closed gate that the client's acquires of a path must wait at; undefined while the gate is open. */
  closedAt(path: string): CreateGate | undefined {
    return this.#closed.get(path);
  }

  /** Closes the gate until the last waiting acquire has gone through. */
  close(path: string): CreateGate {
    const gate = new CreateGate(() => void this.#closed.delete(path));
    this.#closed.set(path, gate);
    return gate;
  }
}
