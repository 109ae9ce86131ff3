import type { LockDecision, LockDriver } from '../driver/lock-driver.js';
import { compareKeys, placeOf, sortKey } from '../driver/names.js';

const readName = '__READ__';
const writeName = '__WRIT__';

/** Readers and writers stand in one queue, in the order of what stands behind either name. The names are Curator's. */
abstract class QueueOfBoth implements LockDriver {
  abstract readonly lockName: string;
  readonly lockNames = [readName, writeName];
  /**
   * A writer that goes over to reading inserts a znode beside its own, in front of all that wait: who was second may
   * not be the next.
   */
  readonly appendOnly = false;

  /**
   * By the key alone, as Curator does: who was first is for the server's numbers to say. Two may have the same one, the
   * writer that goes over to
   * reading and its reader; then the writer is first, so that the order is the same however the server lists them.
   */
  sort(children: readonly string[]): string[] {
    return children
      .map((name) => ({ name, key: keyOf(name), rank: isWriter(name) ? 0 : 1 }))
      .sort((a, b) => compareKeys(a.key, b.key) || a.rank - b.rank || compareKeys(a.name, b.name))
      .map(({ name }) => name);
  }

  abstract decide(sorted: readonly string[], ours: string): LockDecision;
}

/**
 * A writer holds if and only if nobody stands before it; else it waits for the one right before it, whoever that is.
 */
class WriteDriver extends QueueOfBoth {
  readonly lockName = writeName;

  decide(sorted: readonly string[], ours: string): LockDecision {
    const watch = sorted[placeOf(sorted, ours) - 1];
    return watch === undefined ? { held: true } : { held: false, watch };
  }
}

/**
 * A reader holds if and only if no writer stands before it; else it waits for the first of them, as in Curator. How
 * many readers there are does not
 * matter. A writer with the reader's own key is not before it: the reader is that writer's downgrade, and both hold
 * together.
 */
class ReadDriver extends QueueOfBoth {
  readonly lockName = readName;

  decide(sorted: readonly string[], ours: string): LockDecision {
    const key = keyOf(ours);
    const watch = sorted.slice(0, placeOf(sorted, ours)).find((name) => isWriter(name) && keyOf(name) !== key);
    return watch === undefined ? { held: true } : { held: false, watch };
  }
}

/** Of every write lock: it has no state. */
export const writeDriver: LockDriver = new WriteDriver();
/** Of every read lock: it has no state. */
export const readDriver: LockDriver = new ReadDriver();

function isWriter(name: string): boolean {
  return name.includes(writeName);
}

function keyOf(name: string): string {
  return sortKey(sortKey(name, readName), writeName);
}
