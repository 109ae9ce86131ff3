import type { LockLostError } from '../../src/index.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/** A hold ends with its lease. One that renews itself lasts as long as its process runs. */
export class Leases {
  readonly #bench: Bench;

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  /** The signal of the hold has aborted. */
  told(claim: Claim): void {
    const { hold, owner } = claim;
    const { reason } = hold.signal.reason as LockLostError;
    if (reason !== 'lease-expired' || owner.call.renewEveryMs === undefined) return;
    if (owner.client.process.stalledUntil < claim.at)
      this.#bench.tell('lease', `${nameOf(claim)} has lost a lease that renews itself, while its process ran`);
  }

  /** The job of the hold has ended. */
  released(claim: Claim): void {
    const { leaseMs, renewEveryMs, how } = claim.owner.call;
    // The parts of a multi-lock, and leases that were acquired together, have none of their own.
    if (leaseMs === undefined || renewEveryMs !== undefined || claim.isTold || how === 'multi' || how === 'many')
      return;
    const { process } = claim.owner.client;
    const heldMs = process.now - claim.processAt;
    if (heldMs > leaseMs + toleranceMs && this.#bench.now() > process.stalledUntil + toleranceMs)
      this.#bench.tell('lease', `${nameOf(claim)} was held for ${Math.round(heldMs)} ms with a lease of ${leaseMs} ms`);
  }
}

/** A process that stalled runs its late timers one after another. */
const toleranceMs = 5;
