import type { Patience } from './patience.js';

/**
 * Keeps the acquires of one process in the order of their calls while the parents of a path are created. Closed by the first that finds them
 * missing; those who come meanwhile stand in line. Then each sends its create and passes the turn on, so that nobody who comes in between
 * overtakes one who was told to go but has not gone yet.
 */
export class Turnstile {
  readonly #line: (() => void)[] = [];
  readonly #open: () => void;

  constructor(open: () => void) {
    this.#open = open;
  }

  /** Waits for the turn; who has it calls `passOn`. */
  turn(patience: Patience): Promise<void> {
    return patience.wait((wake) => {
      const go = (): void => wake(undefined);
      this.#line.push(go);
      return () => {
        const index = this.#line.indexOf(go);
        if (index >= 0) this.#line.splice(index, 1);
      };
    });
  }

  passOn(): void {
    const next = this.#line.shift();
    if (next) next();
    else this.#open();
  }
}

/** Only the closed ones are kept: a client may see more paths than it has memory for. */
const closed = new WeakMap<object, Map<string, Turnstile>>();

/** The one that stands in the way of a client's acquires of a path; undefined while it is open. */
export function closedTurnstile(client: object, root: string): Turnstile | undefined {
  return closed.get(client)?.get(root);
}

/** Closes it, until the last of its line has passed on. */
export function closeTurnstile(client: object, root: string): Turnstile {
  const ofClient = closed.get(client) ?? new Map<string, Turnstile>();
  closed.set(client, ofClient);
  const turnstile = new Turnstile(() => void ofClient.delete(root));
  ofClient.set(root, turnstile);
  return turnstile;
}
