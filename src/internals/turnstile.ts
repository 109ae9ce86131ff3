import type { Patience } from './patience.js';

/**
 * Keeps the acquires of one process in the order of their calls while the parents of a path are created. Closed by the first that finds them
 * missing; those who come meanwhile stand in line. Then each sends its create and passes the turn on, so that nobody who comes in between
 * overtakes one who was told to go but has not gone yet.
 */
export class Turnstile {
  readonly #line: (() => void)[] = [];
  #isClosed = false;

  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
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
    else this.#isClosed = false;
  }
}

const turnstiles = new WeakMap<object, Map<string, Turnstile>>();

/** The one of a client and a path. */
export function turnstileOf(client: object, root: string): Turnstile {
  const ofClient = turnstiles.get(client) ?? new Map<string, Turnstile>();
  turnstiles.set(client, ofClient);
  const turnstile = ofClient.get(root) ?? new Turnstile();
  ofClient.set(root, turnstile);
  return turnstile;
}
