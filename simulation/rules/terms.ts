import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/** The jobs of leaders: those of one `lead` follow each other, and the signal of each aborts with its term. */
export class Terms {
  readonly #bench: Bench;
  readonly #running = new Set<Term>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  /** A job of `lead` begins. Returns the function that notes its end. @param lead the same for all jobs of one call */
  begin(lead: object, claim: Claim, stop: AbortSignal): () => void {
    for (const other of this.#running)
      if (other.lead === lead)
        this.#bench.tell('term', `${nameOf(claim)} begins while the job of ${nameOf(other.claim)} runs`);
    const term = { lead, claim, stop };
    this.#running.add(term);
    return () => this.#running.delete(term);
  }

  /** I8 for a leader: the signal of its job aborts in the event in which its term is lost. */
  look(): void {
    for (const term of this.#running) {
      if (!term.claim.isTold || term.stop.aborted) continue;
      this.#running.delete(term);
      this.#bench.tell('I8', `the job of ${nameOf(term.claim)} was not told that its term is lost`);
    }
  }
}

interface Term {
  readonly lead: object;
  readonly claim: Claim;
  readonly stop: AbortSignal;
}
