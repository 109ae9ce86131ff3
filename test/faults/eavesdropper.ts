import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold, LockClient } from '../../src/index.ts';

const inCase = new AsyncLocalStorage<string>();

/** Runs a case as an application runs a request: all async work that it starts carries its store. */
export function asRequest<T>(name: string, run: () => T): T {
  return inCase.run(name, run);
}

/**
 * Listens to all events of a client and its holds, and warns when a listener is called in the async context of a case:
 * there it could own that case's lock.
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

  /** Looks at the hold too: during the end of a session it must be either valid or lost. */
  follow(hold: Hold): void {
    hold.signal.addEventListener('abort', () => {
      this.#heard(`the end of ${hold.path}`);
      if (hold.isValid) this.#warn(`${hold.path} is valid after its signal has aborted`);
    });
  }

  #heard(what: string): void {
    const of = inCase.getStore();
    if (of !== undefined) this.#warn(`a listener is called for ${what} in the context of ${of}`);
  }
}
