/**
 * Who holds the lock, decided from the names of the lock's children alone: no I/O, no clock, no state. The one
 * extension point of a lock. After Curator's LockInternalsDriver.
 *
 * @example
 * const sorted = driver.sort(children);
 * const decision = driver.decide(sorted, ours);
 * if (!decision.held) await gone(decision.watch);
 */
export interface LockDriver {
  /** What stands in front of the sequence number in the names that this driver's lock creates, such as `lock-`. */
  readonly lockName: string;

  /**
   * Every lock name in the queue, `lockName` among them, where several kinds of locks share one, as readers and writers
   * do.
   * @default `lockName` alone: all others are foreign
   */
  readonly lockNames?: readonly string[] | undefined;

  /**
   * True when no newcomer can sort before a child that is there already. Only then does "the predecessor of index 1 is
   * gone" mean "held" without another list; read/write and priority locks must say false.
   */
  readonly appendOnly: boolean;

  /** A sorted copy of `children`, first in line first. The argument is left as it is. */
  sort(children: readonly string[]): string[];

  /**
   * Decides for `ours`, given what `sort` returned.
   *
   * @throws RangeError if `ours` is not in `sorted`: the engine looks before it asks, because the retry policy decides
   * what
   *   happens to an acquire whose znode is gone
   */
  decide(sorted: readonly string[], ours: string): LockDecision;
}

/**
 * What a sorted list of children says about one of them: it holds the lock, or it waits for the child named by `watch`.
 */
export type LockDecision =
  | {
      /** It holds the lock. */
      held: true;
    }
  | {
      /** It waits. */
      held: false;
      /** The name of the child whose end is the first event that can let it in. */
      watch: string;
    };
