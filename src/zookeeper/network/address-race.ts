import { EventEmitter } from 'node:events';
import type { CancelTimer, Clock } from '../../support/clock.js';
import type { Link } from './link.js';

/**
 * A link to the first of several addresses that can be reached. The next address is dialled when one has failed, or has
 * had a while for itself. An address that takes longer stays in the race until this link ends (RFC 8305). Node.js gives
 * each address up after 250 ms, which is less than the handshakes over a long way need.
 */
export class AddressRace extends EventEmitter implements Link {
  readonly #options: RaceOptions;
  readonly #left: string[];
  readonly #running = new Set<Link>();
  readonly #failures: Failure[] = [];
  /** True if it may keep the process alive. */
  #isKept = true;
  #state: State = { at: 'racing', cancel: () => {} };

  constructor(options: RaceOptions) {
    super();
    this.#options = options;
    this.#left = [...options.addresses];
    this.#dialNext();
  }

  get destroyed(): boolean {
    return this.#state.at === 'won' ? this.#state.link.destroyed : this.#state.at === 'ended';
  }

  get errored(): Error | null {
    if (this.#state.at === 'won') return this.#state.link.errored;
    return this.#state.at === 'ended' ? this.#state.error : null;
  }

  get writableNeedDrain(): boolean {
    return this.#state.at === 'won' && this.#state.link.writableNeedDrain;
  }

  get remoteAddress(): string | undefined {
    return this.#state.at === 'won' ? this.#state.link.remoteAddress : undefined;
  }

  write(chunk: Uint8Array): boolean {
    return this.#state.at === 'won' && this.#state.link.write(chunk);
  }

  destroy(error?: Error): void {
    if (this.#state.at === 'won') this.#state.link.destroy(error);
    else if (this.#state.at === 'racing') {
      this.#end(error ?? null);
      for (const link of this.#running) link.destroy();
    }
  }

  unref(): void {
    this.#isKept = false;
    for (const link of this.#running) link.unref?.();
  }

  #dialNext(): void {
    const { dial, clock, headStartMs, isSecure } = this.#options;
    const address = this.#left.shift();
    if (address === undefined) return;
    const link = dial(address);
    let isReached = false;
    this.#running.add(link);
    if (!this.#isKept) link.unref?.();
    link.on('connect', () => {
      isReached = true;
      if (!isSecure) this.#won(link, 'connect');
    });
    link.on('secureConnect', () => this.#won(link, 'secureConnect'));
    link.on('error', () => {
      // The event 'close' follows, and `errored` keeps the error.
    });
    link.on('close', () => this.#closed(link, isReached));
    if (this.#left.length > 0) this.#state = { at: 'racing', cancel: clock.after(headStartMs, () => this.#dialNext()) };
  }

  #won(link: Link, event: 'connect' | 'secureConnect'): void {
    if (this.#state.at !== 'racing') return;
    this.#state.cancel();
    this.#state = { at: 'won', link };
    for (const other of this.#running) if (other !== link) other.destroy();
    link.on('error', (error) => this.emit('error', error));
    link.on('data', (chunk) => this.emit('data', chunk));
    link.on('drain', () => this.emit('drain'));
    this.emit(event);
  }

  #closed(link: Link, isReached: boolean): void {
    this.#running.delete(link);
    const state = this.#state;
    switch (state.at) {
      case 'won':
        if (state.link === link) this.emit('close');
        return;
      case 'racing':
        this.#failures.push({ error: link.errored, isReached });
        state.cancel();
        this.#dialNext();
        if (this.#running.size > 0) return;
        this.#end(outcomeOf(this.#failures));
        this.emit('close');
        return;
      case 'ended':
        if (this.#running.size === 0) this.emit('close');
    }
  }

  #end(error: Error | null): void {
    if (this.#state.at === 'racing') this.#state.cancel();
    this.#state = { at: 'ended', error };
  }
}

export interface RaceOptions {
  /** In the order in which they are dialled. */
  readonly addresses: readonly string[];
  readonly dial: (address: string) => Link;
  /** True if a link wins by the end of its TLS handshake. */
  readonly isSecure: boolean;
  /** The time that each address has before the next one is dialled too. */
  readonly headStartMs: number;
  readonly clock: Clock;
}

type State =
  | { readonly at: 'racing'; readonly cancel: CancelTimer }
  | { readonly at: 'won'; readonly link: Link }
  | { readonly at: 'ended'; readonly error: Error | null };

interface Failure {
  readonly error: Error | null;
  /** True if the server accepted the TCP connection. */
  readonly isReached: boolean;
}

/** As Node.js does, with the failures of servers first that were reached, because these say more. */
function outcomeOf(failures: readonly Failure[]): Error | null {
  const reached = failures.filter(({ isReached }) => isReached);
  const errors = [...reached, ...failures.filter(({ isReached }) => !isReached)].flatMap(({ error }) => error ?? []);
  const [first] = errors;
  if (first === undefined || errors.length === 1) return first ?? null;
  return Object.assign(new AggregateError(errors), 'code' in first && { code: first.code });
}
