import type { CancelTimer, Clock } from '../support/clock.js';
import { expected } from '../support/validate.js';

/**
 * A limit on the time that a job may hold a lock, counted by the holder's own clock. It sends nothing to the servers.
 * Several holds of one owner may share a lease.
 */
export class HoldLease {
  readonly #clock: Clock;
  readonly #renewEveryMs: number | undefined;
  readonly #holders = new Set<Leaseholder>();
  /** The holders that keep the lease running. */
  readonly #keepers = new Set<Leaseholder>();
  leaseMs: number;
  /** The time at which the lease ends or ended, in monotonic milliseconds. */
  endsAt: number;
  #renewAt: number;
  #isOver = false;
  #cancelLook: CancelTimer = () => {};

  /** The lease begins at once. */
  constructor(clock: Clock, { leaseMs, renewEveryMs }: LeaseTerms) {
    this.#clock = clock;
    this.leaseMs = leaseMs;
    this.#renewEveryMs = renewEveryMs;
    this.endsAt = clock.now() + leaseMs;
    this.#renewAt = clock.now() + (renewEveryMs ?? Infinity);
    this.#lookInTime();
  }

  /** Compares the clock when asked, so a timer that never ran cannot make the lease last longer. */
  get isOver(): boolean {
    if (!this.#isOver && this.#clock.now() >= this.endsAt) this.#end();
    return this.#isOver;
  }

  /**
   * Returns a function that removes the holder. When no holder with `keeps` is left, the timer stops. A hold that
   * consists of other holds joins without `keeps`, because it ends with them.
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
   * The lease lasts `leaseMs` from now on. Must not be called after the lease is over.
   *
   * @throws RangeError when the lease renews itself, at an interval that would be too long
   */
  renew(leaseMs: number): void {
    checkRenewal(leaseMs, this.#renewEveryMs);
    this.leaseMs = leaseMs;
    this.endsAt = this.#clock.now() + leaseMs;
    this.#lookInTime();
  }

  #lookInTime(): void {
    const now = this.#clock.now();
    this.#cancelLook();
    this.#cancelLook = this.#clock.after(
      Math.min(this.endsAt - now, Math.max(0, this.#renewAt - now), longestLookMs),
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
    this.renew(this.leaseMs);
    const [holder] = this.#holders;
    holder?.leaseRenewed();
  }

  #end(): void {
    this.#isOver = true;
    this.#cancelLook();
    for (const holder of [...this.#holders]) holder.leaseEnded(this);
  }
}

/** The length of a lease, and the interval at which it renews itself while its process runs. */
export interface LeaseTerms {
  readonly leaseMs: number;
  readonly renewEveryMs?: number | undefined;
}

/** A hold that ends with a lease. */
export interface Leaseholder {
  leaseEnded(lease: HoldLease): void;
  leaseRenewed(): void;
}

/** A system timer stands still while the machine sleeps, so the lease compares the clock at least this often. */
const longestLookMs = 1_000;

/** @throws RangeError that names both numbers when the lease would end before it is renewed */
export function checkRenewal(leaseMs: number, renewEveryMs: number | undefined): void {
  if (renewEveryMs !== undefined && renewEveryMs >= leaseMs) {
    throw new RangeError(expected('renewEveryMs', `less than \`leaseMs\`, which is ${leaseMs}`, renewEveryMs));
  }
}
