import type { CancelTimer, Clock } from '../support/clock.js';
import { expected } from '../support/validate.js';

/**
 * The time that a job has, unless it is renewed: counted by the holder's own clock, without a word to the servers.
 * Several holds of one owner may share it.
 */
export class HoldLease {
  readonly #clock: Clock;
  readonly #renewEveryMs: number | undefined;
  readonly #holders = new Set<Leaseholder>();
  /** Those for whose sake it runs. */
  readonly #keepers = new Set<Leaseholder>();
  #leaseMs: number;
  #endsAt: number;
  #renewAt: number;
  #isOver = false;
  #cancelLook: CancelTimer = nothing;

  /** It runs from now on. */
  constructor(clock: Clock, { leaseMs, renewEveryMs }: LeaseTerms) {
    this.#clock = clock;
    this.#leaseMs = leaseMs;
    this.#renewEveryMs = renewEveryMs;
    this.#endsAt = clock.now() + leaseMs;
    this.#renewAt = clock.now() + (renewEveryMs ?? Infinity);
    this.#lookInTime();
  }

  get leaseMs(): number {
    return this.#leaseMs;
  }

  /** When it ends, or has ended; monotonic milliseconds. */
  get endsAt(): number {
    return this.#endsAt;
  }

  /** Judged now: a timer that never ran cannot make it last longer. */
  get isOver(): boolean {
    if (!this.#isOver && this.#clock.now() >= this.#endsAt) this.#end();
    return this.#isOver;
  }

  /**
   * Returns what takes the holder out again. Without one that `keeps` it going nothing runs any more: who is made of
   * others ends with them.
   */
  join(holder: Leaseholder, { keeps = true } = {}): () => void {
    this.#holders.add(holder);
    if (keeps) this.#keepers.add(holder);
    return () => {
      this.#holders.delete(holder);
      this.#keepers.delete(holder);
      if (this.#keepers.size === 0) this.#cancelLook();
    };
  }

  /**
   * From now on it lasts `leaseMs`. Not to be called when it is over.
   *
   * @throws RangeError when it is renewed by itself, and that would be too seldom
   */
  renew(leaseMs: number): void {
    checkRenewal(leaseMs, this.#renewEveryMs);
    this.#leaseMs = leaseMs;
    this.#endsAt = this.#clock.now() + leaseMs;
    this.#lookInTime();
  }

  #lookInTime(): void {
    const now = this.#clock.now();
    this.#cancelLook();
    this.#cancelLook = this.#clock.after(
      Math.min(this.#endsAt - now, Math.max(0, this.#renewAt - now), longestLookMs),
      () => this.#look(),
    );
  }

  #look(): void {
    if (this.isOver) return;
    if (this.#clock.now() < this.#renewAt) {
      this.#lookInTime();
      return;
    }
    this.#renewAt = this.#clock.now() + (this.#renewEveryMs ?? Infinity);
    this.renew(this.#leaseMs);
    const [holder] = this.#holders;
    holder?.leaseRenewed();
  }

  #end(): void {
    this.#isOver = true;
    this.#cancelLook();
    for (const holder of [...this.#holders]) holder.leaseEnded(this);
  }
}

/** How long a job may hold a lock, and how often that is prolonged while its process runs. */
export interface LeaseTerms {
  readonly leaseMs: number;
  readonly renewEveryMs?: number | undefined;
}

/** A hold that ends with a lease. */
export interface Leaseholder {
  leaseEnded(lease: HoldLease): void;
  leaseRenewed(): void;
}

/**
 * A timer of the system stands still while the machine sleeps: the clock is looked at again after this time at the
 * latest.
 */
const longestLookMs = 1_000;

/** @throws RangeError that names both figures when a lease would end before it is renewed */
export function checkRenewal(leaseMs: number, renewEveryMs: number | undefined): void {
  if (renewEveryMs !== undefined && renewEveryMs >= leaseMs) {
    throw new RangeError(expected('renewEveryMs', `less than \`leaseMs\`, which is ${leaseMs}`, renewEveryMs));
  }
}

function nothing(): void {
  // No timer runs.
}
