import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/**
 * The jobs of leaders: those of one `lead` follow each other, and the signal of each aborts with its term, and when its
 * caller gives up. A job that fails while it leads is the last one.
 */
export class Terms {
  readonly #bench: Bench;
  readonly #running = new Set<Term>();
  readonly #failed = new Map<object, Claim>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  /** A job of `lead` begins. Returns the function that notes its end. */
  begin(term: Term): (hasFailed: boolean) => void {
    const { lead, claim } = term;
    for (const other of this.#running)
      if (other.lead === lead)
        this.#bench.tell('term', `${nameOf(claim)} begins while the job of ${nameOf(other.claim)} runs`);
    const failed = this.#failed.get(lead);
    // A term may be lost while its job fails.
    if (failed?.isTold === false)
      this.#bench.tell('term', `${nameOf(claim)} begins after the job of ${nameOf(failed)} has failed`);
    this.#running.add(term);
    return (hasFailed) => {
      this.#running.delete(term);
      if (hasFailed) this.#failed.set(lead, claim);
    };
  }

  /** I8 for a leader: the signal of its job aborts in the event in which its term is lost, or its caller gives up. */
  look(): void {
    for (const term of this.#running) {
      if (term.stop.aborted || (!term.claim.isTold && !term.caller.aborted)) continue;
      this.#running.delete(term);
      const why = term.claim.isTold ? 'its term is lost' : 'its caller gives up';
      this.#bench.tell('I8', `the job of ${nameOf(term.claim)} was not told that ${why}`);
    }
  }
}

interface Term {
  /** The same for all jobs of one call. */
  readonly lead: object;
  readonly claim: Claim;
  /** The signal that the job gets. */
  readonly stop: AbortSignal;
  /** The signal of the caller. */
  readonly caller: AbortSignal;
}
