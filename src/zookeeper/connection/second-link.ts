import type { CancelTimer, Clock } from '../../support/clock.js';
import type { Handshake } from './handshake.js';
import type { Pipeline } from './pipeline.js';
import type { Call } from '../wire/replies.js';
import { reached } from '../../support/reached.js';

/**
 * A second connection to the server of the session, which is to take the place of the first one. Until the second link
 * is made, TLS and a Kerberos ticket included, requests go on over the first one. Then the writes in flight are answered,
 * new requests are held back, and the ConnectRequest goes out. The server ends the first connection itself when
 * it reads that request.
 */
export class SecondLink {
  readonly #first: Pipeline;
  readonly #clock: Clock;
  readonly #drainMs: number;
  #state: 'dialling' | 'draining' | 'asking' | 'ended' = 'dialling';
  #cancelDrain: CancelTimer = () => {};
  handshake: Handshake | undefined;
  #heldBack: Call[] = [];

  constructor(first: Pipeline, clock: Clock, drainMs: number) {
    this.#first = first;
    this.#clock = clock;
    this.#drainMs = drainMs;
  }

  /** False once the server was asked: it may have granted the session on the second link. */
  get mayStop(): boolean {
    return this.#state === 'dialling' || this.#state === 'draining';
  }

  /** The link is made. */
  made(): void {
    this.handshake?.prepare(() => this.#drain());
  }

  /** True if requests must wait until one of the connections stays. */
  get isExchanging(): boolean {
    return this.#state === 'draining' || this.#state === 'asking' || this.#first.isEnded;
  }

  /** The requests that wait until one of the connections stays. */
  get heldBack(): readonly Call[] {
    return this.#heldBack;
  }

  /** Returns true if the request must wait, which it then does. */
  holdsBack(call: Call): boolean {
    if (this.isExchanging) {
      reached('a request held back for an attach');
      this.#heldBack.push(call);
    }
    return this.isExchanging;
  }

  /** Holds back requests of the first link that were made before. */
  takeOver(calls: readonly Call[]): void {
    // A request that the server has put off was sent before those that are in flight: a read must not overtake its sync.
    this.#heldBack = [...calls, ...this.#heldBack].sort((one, other) => firstXidOf(one) - firstXidOf(other));
  }

  /** Answers have arrived on the first link. */
  chunkRead(): void {
    if (this.#state === 'draining' && !this.#first.owesChange) this.#ask();
  }

  /** The answers on the first link are not waited for any longer, or it has ended. */
  drained(): void {
    if (this.#state === 'draining') this.#ask();
  }

  abandon(): void {
    this.#state = 'ended';
    this.#cancelDrain();
    this.handshake?.abandon();
  }

  #drain(): void {
    this.#state = 'draining';
    this.takeOver(this.#first.takeUnsent());
    if (!this.#first.owesChange) this.#ask();
    else this.#cancelDrain = this.#clock.after(this.#drainMs, () => this.drained());
  }

  #ask(): void {
    this.#state = 'asking';
    this.#cancelDrain();
    this.handshake?.ask();
  }
}

/** The requests that were never sent come last, in their order. */
function firstXidOf({ firstXid = Number.MAX_SAFE_INTEGER }: Call): number {
  return firstXid;
}
