import { LockLostError, type MultiHold, type ReleaseOutcome } from '../../src/index.ts';
import { nameOf, type Claim } from '../claim.ts';
import type { Bench } from './bench.ts';

/**
 * I8 for a multi-lock: its hold is lost in the event in which the first of its locks is, and only then. It is not granted
 * if one of them was lost before.
 */
export class MultiLocks {
  readonly #bench: Bench;
  readonly #open = new Set<Together>();
  /** When the locks of these znodes were lost. */
  readonly #lostAt = new Map<string, number>();

  constructor(bench: Bench) {
    this.#bench = bench;
  }

  /** A client says that the lock of this znode is lost. */
  lost(path: string): void {
    if (!this.#lostAt.has(path)) this.#lostAt.set(path, this.#bench.now());
  }

  granted(together: Together): void {
    this.#open.add(together);
    for (const claim of together.claims)
      if ((this.#lostAt.get(claim.path) ?? Infinity) < this.#bench.now())
        this.#tell(together, `was granted although ${nameOf(claim)} was lost before`);
  }

  /** @param outcome what the release has resolved with */
  released(together: Together, outcome: ReleaseOutcome): void {
    if (outcome === 'released' && together.claims.some(({ isTold }) => isTold))
      this.#tell(together, 'is said to be released, although one of its locks was lost');
  }

  /** Called after each event in which code of a client ran. */
  look(): void {
    for (const together of this.#open) {
      const { claims, hold, stop } = together;
      const lost = claims.find(({ isTold }) => isTold);
      const isOver = claims.some(({ isReleased, owner }) => isReleased || owner.client.process.isDead);
      if (isOver || lost || stop.aborted) this.#open.delete(together);
      if (isOver || (lost && stop.aborted && saysItIsLost(hold)) || (!lost && !stop.aborted)) continue;
      this.#tell(together, lost ? `was not told that ${nameOf(lost)} is lost` : 'is lost, and none of its locks is');
    }
  }

  #tell({ claims }: Together, text: string): void {
    this.#bench.tell('multi', `the hold of ${claims.map(nameOf).join(' and ')} ${text}`);
  }
}

/** The hold of a multi-lock. */
export interface Together {
  readonly hold: Pick<MultiHold, 'assertValid'>;
  /** Its signal, read when it was granted. */
  readonly stop: AbortSignal;
  readonly claims: readonly Claim[];
}

function saysItIsLost(hold: Together['hold']): boolean {
  try {
    hold.assertValid();
    return false;
  } catch (error) {
    return error instanceof LockLostError;
  }
}
