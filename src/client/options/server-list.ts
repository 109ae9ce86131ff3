import type { CancelTimer, Clock } from '../../support/clock.js';
import { errorText } from '../../support/error-text.js';
import { Listeners } from '../../support/listeners.js';
import { callApplication } from '../../support/no-context.js';
import { printable } from '../../support/printable.js';
import {
  addressOf,
  type ConnectString,
  describeHosts,
  type Host,
  parseConnectString,
  type Servers,
} from '../../zookeeper/wire/connect-string.js';

/**
 * The servers of a client: those of a connect string, or those that a function of the application names, which is called
 * again while no server answers. A result that cannot be used changes nothing.
 */
export class ServerList implements Servers {
  readonly #clock: Clock;
  readonly #name: (() => unknown) | undefined;
  readonly #changes = new Listeners<void>();
  #known: ConnectString = unknown;
  /** The address of the first list. */
  #address = '';
  /** The time of the last call, and its number. */
  #askedAt = -Infinity;
  #call = 0;
  #cancelLimit: CancelTimer | undefined;
  /** The number of the last call that has settled. */
  #settled = 0;
  /** Why the last call gave no list. */
  failure: { readonly error: unknown } | undefined;
  /** Gets each trouble that differs from the one before, and each change. */
  listener: ServerListListener = { failed: () => {}, changed: () => {} };

  /** @throws TypeError for a bad connect string */
  constructor(given: unknown, clock: Clock) {
    this.#clock = clock;
    if (typeof given === 'function') this.#name = given as () => unknown;
    else this.#learn(parseConnectString(given, ', or a function that returns that'));
  }

  get hosts(): readonly Host[] {
    return this.#known.hosts;
  }

  get chroot(): string {
    return this.#known.chroot;
  }

  /** The hosts of the first list and the chroot: the same text whatever the order of the hosts; '' before. */
  get address(): string {
    return this.#address;
  }

  get isKnown(): boolean {
    return this.#known !== unknown;
  }

  /** Why no server is known; undefined if one is. */
  get trouble(): unknown {
    if (this.isKnown) return undefined;
    return this.failure?.error ?? new Error('`connectString()` has not settled yet');
  }

  /** True while the last call has not settled. */
  get isPending(): boolean {
    return this.#settled < this.#call;
  }

  onChange(listener: () => void): () => void {
    return this.#changes.add(listener);
  }

  /** Calls the application's function, unless its last call was just now, or has not settled yet. */
  ask(outageMs = 0): void {
    const now = this.#clock.now();
    const pauseMs = Math.min(mostPauseMs, Math.max(leastPauseMs, outageMs / pausesInOutage));
    if (!this.#name || this.#cancelLimit || now - this.#askedAt < pauseMs) return;
    this.#askedAt = now;
    this.#call += 1;
    try {
      this.#take(callApplication(this.#name));
    } catch (error) {
      this.#settled = this.#call;
      this.#failed(error);
    }
  }

  /** No call is waited for any more. */
  close(): void {
    this.#settled = Infinity;
    this.#endLimit();
  }

  #take(result: unknown): void {
    if (typeof result !== 'object' || result === null || !('then' in result)) {
      this.#settled = this.#call;
      this.#returned(result);
      return;
    }
    const call = this.#call;
    // A promise that settles after its limit still counts, unless that of a later call has settled.
    const ifNewest = (then: () => void): void => {
      if (call < this.#settled) return;
      this.#settled = call;
      if (call === this.#call) this.#endLimit();
      then();
    };
    this.#cancelLimit = this.#clock.after(limitMs, () => {
      this.#endLimit();
      this.#failed(
        new Error(
          `\`connectString()\` has not settled for ${limitMs} ms, although a connect string is expected within that time`,
        ),
      );
    });
    void callApplication(() =>
      Promise.resolve(result as PromiseLike<unknown>).then(
        (value) => ifNewest(() => this.#returned(value)),
        (error: unknown) => ifNewest(() => this.#failed(error)),
      ),
    );
  }

  #returned(value: unknown): void {
    try {
      this.#learn(this.#parsed(value));
    } catch (error) {
      this.#failed(error);
    }
  }

  #parsed(value: unknown): ConnectString {
    try {
      const next = parseConnectString(value);
      if (this.isKnown) refuseOtherChroot(this.#known, next);
      return next;
    } catch (error) {
      const { message } = error as TypeError;
      throw new TypeError(message.replace('`connectString`', 'the result of `connectString()`'), { cause: error });
    }
  }

  #learn(next: ConnectString): void {
    this.failure = undefined;
    const before = this.#known;
    if (this.isKnown && addressOf(before) === addressOf(next)) return;
    this.#known = next;
    this.#address ||= addressOf(next);
    if (before !== unknown)
      this.listener.changed(`The servers are now ${describeHosts(next)}, in place of ${describeHosts(before)}`);
    this.#changes.tell();
  }

  #failed(error: unknown): void {
    const isNews = this.failure === undefined || errorText(this.failure.error) !== errorText(error);
    this.failure = { error };
    const kept = this.isKnown ? `keeps its servers ${describeHosts(this.#known)}` : 'has no servers yet';
    if (isNews)
      this.listener.failed(`The client ${kept}, because the result of \`connectString()\` cannot be used`, error);
    if (!this.isKnown) this.#changes.tell();
  }

  #endLimit(): void {
    this.#cancelLimit?.();
    this.#cancelLimit = undefined;
  }
}

export interface ServerListListener {
  failed(message: string, error: unknown): unknown;
  changed(message: string): void;
}

/** @throws TypeError for another chroot: the znodes of the locks are below it */
function refuseOtherChroot({ chroot }: ConnectString, next: ConnectString): void {
  const shown = (of: string): string => (of === '' ? 'no chroot' : `the chroot ${printable(of)}`);
  if (next.chroot !== chroot)
    throw new TypeError(
      `Expected \`connectString\` to have ${shown(chroot)} as before, got ${shown(next.chroot)}: the locks of one client are below one chroot`,
    );
}

const unknown: ConnectString = { hosts: [], chroot: '' };

/** A promise that has not settled by then counts as a failure. */
const limitMs = 10_000;
/** At the beginning of an outage, holds are about to be lost. Later, thousands of clients must not flood a registry. */
const leastPauseMs = 1_000;
const mostPauseMs = 60_000;
const pausesInOutage = 8;
