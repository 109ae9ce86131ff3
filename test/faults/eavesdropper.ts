import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold, LockClient } from '../../src/index.ts';

const inCase = new AsyncLocalStorage<string>();

/** Runs a case as an application's request does: all that it starts carries its store. */
export function asRequest<T>(name: string, run: () => T): T {
  return inCase.run(name, run);
}

/**
 * Listens to all that a client and its holds tell, and warns where a listener is called in somebody's async context:
 * there it could own somebody's lock.
 */
export class Eavesdropper {
  readonly #warn: (warning: string) => void;

  constructor(warn: (warning: string) => void) {
    this.#warn = warn;
  }

  listenTo(client: LockClient): void {
    client
      .on('state', (state) => this.#heard(`the state ${state}`))
      .on('background', ({ type }) => this.#heard(`the event ${type}`));
  }

  /** Looks at the hold as well: in the middle of a session's end it is lost, or it is valid. */
  follow(hold: Hold): void {
    hold.signal.addEventListener('abort', () => {
      this.#heard(`the end of ${hold.path}`);
      if (hold.isValid) this.#warn(`${hold.path} is valid after its signal has aborted`);
    });
  }

  #heard(what: string): void {
    const of = inCase.getStore();
    if (of !== undefined) this.#warn(`a listener hears of ${what} in the context of ${of}`);
  }
}
