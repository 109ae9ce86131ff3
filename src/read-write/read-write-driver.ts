import type { LockDecision, LockDriver } from '../driver/lock-driver.js';
import { compareKeys, placeOf, sortKey } from '../driver/names.js';

const readName = '__READ__';
const writeName = '__WRIT__';

/**
 * The common part of both drivers. Readers and writers share one queue, sorted by the sequence number after either
 * name. The names are Curator's.
 */
abstract class QueueOfBoth implements LockDriver {
  abstract readonly lockName: string;
  readonly lockNames = [readName, writeName];
  /**
   * False, because a downgrade inserts a znode at the place of its writer, before all waiters. So the second
   * participant may not be the next holder.
   */
  readonly appendOnly = false;

  /**
   * Sorts by the key alone, as Curator does: the server's numbers decide which participant came first. A downgrading
   * writer and its reader have the same key; then the writer is first, so that the order does not depend on the order
   * in which the server lists them.
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
 * A writer holds the lock if and only if no participant is before it. Otherwise it waits for the participant right
 * before it, reader or writer.
 */
class WriteDriver extends QueueOfBoth {
  readonly lockName = writeName;

  decide(sorted: readonly string[], ours: string): LockDecision {
    const watch = sorted[placeOf(sorted, ours) - 1];
    return watch === undefined ? { held: true } : { held: false, watch };
  }
}

/**
 * A reader holds the lock if and only if no writer is before it. Otherwise it waits for the first of those writers, as
 * in Curator. The number of readers does not matter. A writer with the reader's own key is not before it: the reader is
 * that writer's downgrade, and both hold together.
 */
class ReadDriver extends QueueOfBoth {
  readonly lockName = readName;

  decide(sorted: readonly string[], ours: string): LockDecision {
    const key = keyOf(ours);
    const watch = sorted.slice(0, placeOf(sorted, ours)).find((name) => isWriter(name) && keyOf(name) !== key);
    return watch === undefined ? { held: true } : { held: false, watch };
  }
}

/** The driver of every write lock; it has no state. */
export const writeDriver: LockDriver = new WriteDriver();
/** The driver of every read lock; it has no state. */
export const readDriver: LockDriver = new ReadDriver();

function isWriter(name: string): boolean {
  return name.includes(writeName);
}

function keyOf(name: string): string {
  return sortKey(sortKey(name, readName), writeName);
}
