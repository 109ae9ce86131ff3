import type { LockLostError } from '../../../../../src/client/report/lock-lost-error.js';
import type { CancelTimer, Clock } from '../../../../../src/support/clock.js';
import type { EndTimes } from './grace.js';

/** The part of a hold that its guard reads. */
export interface GuardedHold {
  readonly signal: AbortSignal;
  readonly remainingMs: number;
}

export interface HoldGuardListener {
  /** So long the hold is certainly held from now on. Called when it has become longer. */
  renewed(remainingMs: number): void;
  /** The job must begin to end now, and must be dead after `killInMs`. Called once at most. */
  mustEnd(killInMs: number): void;
  /** The lock is lost: the job must be dead now. Called once at most. */
  lost(error: LockLostError): void;
}

/**
 * Watches how long a hold is certainly held, and tells the job to end so early that TERM, grace and KILL come before
 * the hold's end. The time left decides, and not the state of the connection: a server that is cut off from its leader
 * keeps the connection, and proves nothing.
 */
export class HoldGuard {
  readonly #hold: GuardedHold;
  readonly #times: EndTimes;
  readonly #clock: Clock;
  readonly #listener: HoldGuardListener;
  readonly #periodMs: number;
  #state: 'watching' | 'ending' | 'over' = 'watching';
  /** The end of the hold that was told last; monotonic milliseconds. */
  #toldEnd = -Infinity;
  #cancel: CancelTimer = () => undefined;

  /** @param periodMs how often to look for a renewal */
  constructor(
    hold: GuardedHold,
    { times, clock, periodMs }: { readonly times: EndTimes; readonly clock: Clock; readonly periodMs: number },
    listener: HoldGuardListener,
  ) {
    this.#hold = hold;
    this.#times = times;
    this.#clock = clock;
    this.#periodMs = periodMs;
    this.#listener = listener;
  }

  begin(): void {
    this.#hold.signal.addEventListener('abort', this.#onAbort);
    if (this.#hold.signal.aborted) this.#onAbort();
    this.look();
  }

  /** Judges now. Called by a timer, and when this process may have been stopped. */
  look(): void {
    if (this.#state === 'over') return;
    this.#cancel();
    const remainingMs = this.#hold.remainingMs; // aborts the signal if the hold has ended
    if (this.#state === 'watching') this.#judge(remainingMs);
  }

  end(): void {
    this.#state = 'over';
    this.#cancel();
    this.#hold.signal.removeEventListener('abort', this.#onAbort);
  }

  #judge(remainingMs: number): void {
    const leftMs = this.#leftOf(remainingMs);
    if (leftMs <= 0) {
      this.#state = 'ending';
      this.#listener.mustEnd(Math.max(0, Math.min(this.#times.graceMs, remainingMs - this.#times.marginMs)));
      return;
    }
    const end = this.#clock.now() + remainingMs;
    if (end > this.#toldEnd + sameEndMs) {
      this.#toldEnd = end;
      this.#listener.renewed(remainingMs);
    }
    this.#cancel = this.#clock.after(Math.min(leftMs, this.#periodMs), () => this.look());
  }

  readonly #onAbort = (): void => {
    if (this.#state === 'over') return;
    this.end();
    this.#listener.lost(this.#hold.signal.reason as LockLostError);
  };

  #leftOf(remainingMs: number): number {
    return remainingMs - this.#times.graceMs - this.#times.marginMs;
  }
}

/** Two readings of one deadline differ by the time between two readings of the clock. */
const sameEndMs = 10;
