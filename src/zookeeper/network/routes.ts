import { isIP } from 'node:net';
import type { CancelTimer, Clock } from '../../support/clock.js';
import type { Address, HostNames, Question } from './host-names.js';

/**
 * The addresses of the hosts that one connection dials. A name that was not looked up in a moment leads to the addresses
 * that it had last. If there are none, the next host is dialled in the meantime, and the answer serves a later attempt.
 */
export class Routes {
  readonly #names: HostNames | undefined;
  readonly #clock: Clock;
  /** The lookups that no attempt has used yet. */
  readonly #open = new Map<string, Question>();
  #cancelMoment: CancelTimer = () => {};
  /** Called at each answer. */
  #answered: () => void = () => {};

  constructor(names: HostNames | undefined, clock: Clock) {
    this.#names = names;
    this.#clock = clock;
  }

  /** Calls `found` once, at once if the addresses are known. */
  find(host: string, found: (route: Route) => void): void {
    if (isIP(host) !== 0 || !this.#names) {
      found({ is: 'found', addresses: [] });
      return;
    }
    const open = this.#open.get(host);
    if (open) {
      this.#tell(host, open, found);
      return;
    }
    const question = this.#names.ask(host, () => this.#answered());
    this.#open.set(host, question);
    const end = (): void => {
      this.#endMoment();
      this.#tell(host, question, found);
    };
    this.#cancelMoment = this.#clock.after(momentMs, end);
    this.#answered = () => question.answer && end();
  }

  /** Calls `answered` when a lookup has an answer that no attempt has used yet. */
  whenAnswered(answered: () => void): CancelTimer {
    this.#cancelMoment = () => {};
    this.#answered = () => {
      this.#endMoment();
      answered();
    };
    if ([...this.#open.values()].some(({ answer }) => answer))
      this.#cancelMoment = this.#clock.after(0, () => this.#answered());
    return () => this.#endMoment();
  }

  /** No attempt follows soon: a later one has to ask anew. */
  forget(): void {
    this.#endMoment();
    for (const question of this.#open.values()) question.withdraw();
    this.#open.clear();
  }

  #tell(host: string, { answer }: Question, found: (route: Route) => void): void {
    if (answer) {
      this.#open.delete(host);
      found(answer);
      return;
    }
    const addresses = this.#names?.lastOf(host);
    found(addresses ? { is: 'found', addresses } : { is: 'pending' });
  }

  #endMoment(): void {
    this.#cancelMoment();
    this.#answered = () => {};
  }
}

export type Route =
  /** Without addresses, the host needs no lookup. */
  | { readonly is: 'found'; readonly addresses: readonly Address[] }
  | { readonly is: 'failed'; readonly error: unknown }
  | { readonly is: 'pending' };

const momentMs = 250;
