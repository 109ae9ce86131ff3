/**
 * Decides from the names of the lock's children alone which child holds the lock: no I/O, no clock, no state. It is the
 * only extension point of a lock, modelled on Curator's LockInternalsDriver.
 *
 * @example
 * const sorted = driver.sort(children);
 * const decision = driver.decide(sorted, ours);
 * if (!decision.held) await gone(decision.watch);
 */
export interface LockDriver {
  /** The text before the sequence number in the names that this driver's lock creates, such as `lock-`. */
  readonly lockName: string;

  /**
   * Every lock name in the queue, including `lockName`, if several kinds of locks share one queue, as readers and
   * writers do.
   * @default `lockName` alone: all other names are foreign
   */
  readonly lockNames?: readonly string[] | undefined;

  /**
   * True if a new child never sorts before an existing child. Only then does "every child that a list showed before this
   * one is gone" mean "held" without another list. Read/write locks and priority locks must return false.
   */
  readonly appendOnly: boolean;

  /** Returns a sorted copy of `children`, the first in the queue first. Must not change its argument. */
  sort(children: readonly string[]): string[];

  /**
   * Decides about the child `ours`, from the result of `sort`.
   *
   * @throws RangeError if `ours` is not in `sorted`. The engine checks that before the call, because the retry policy
   * decides what happens to an acquire whose znode is gone
   */
  decide(sorted: readonly string[], ours: string): LockDecision;
}

/** The decision about one child in a sorted list: it holds the lock, or it waits for the child named by `watch`. */
export type LockDecision =
  | {
      /** The child holds the lock. */
      held: true;
    }
  | {
      /** The child waits. */
      held: false;
      /** The name of the child whose deletion is the first event after which this child can be granted the lock. */
      watch: string;
    };
