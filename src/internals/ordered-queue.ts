import { isSameDriver } from '../driver/application-driver.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { foreignNames, SEQUENCE_MAX, sequenceOf } from '../driver/names.js';
import { StandardDriver } from '../driver/standard-driver.js';
import { expected } from '../support/validate.js';
import type { Session } from '../zookeeper/session/session.js';
import { listChildren, type Listing } from './listing.js';
import { ForeignNodeError } from './lock-errors.js';
import type { ParticipantName, QueueKind, QueueView, Standing } from './queue-view.js';

/**
 * A queue whose order a driver decides from the names of the lock's children: the queue of a mutex, of readers and
 * writers, or of a semaphore.
 */
export class OrderedQueue implements QueueKind {
  readonly driver: LockDriver;
  readonly lockName: string;
  readonly appendOnly: boolean;
  /** False for a driver of the application, which is wrapped, even if it extends StandardDriver. */
  readonly isFirstComeFirstServed: boolean;
  readonly #lock: OrderedLock;
  readonly #newcomer: string;
  /** The doubtful names that two lists have shown. */
  #confirmed = '';

  constructor(driver: LockDriver, lock: OrderedLock) {
    this.driver = driver;
    this.lockName = driver.lockName;
    // With other names in the queue, the next child may sort before a waiter.
    this.appendOnly = driver.appendOnly && lock.foreignNodes === 'reject';
    this.isFirstComeFirstServed = driver instanceof StandardDriver;
    this.#lock = lock;
    this.#newcomer = `${driver.lockName}${SEQUENCE_MAX}`;
  }

  get watchesChildren(): boolean {
    return this.#lock.watchesChildren ?? false;
  }

  async read(session: Session): Promise<QueueView> {
    const listing = await listChildren(session, this.#lock.path);
    const doubtful = this.#doubtfulIn(listing);
    if (doubtful === '' || doubtful === this.#confirmed) return this.viewOf(listing);
    // A bit of the holder's name that was changed on its way would let a waiter believe that it is first.
    const second = await listChildren(session, this.#lock.path);
    this.#confirmed = this.#doubtfulIn(second);
    return this.viewOf(second);
  }

  viewOf(listing: Listing): QueueView {
    return new OrderedView(this, listing);
  }

  hasRuleOf(other: QueueKind): boolean {
    if (other === this) return true;
    return (
      other instanceof OrderedQueue &&
      isSameDriver(other.driver, this.driver) &&
      other.#lock.foreignNodes === this.#lock.foreignNodes
    );
  }

  describe(name: string): ParticipantName {
    return { sequence: sequenceOf(name, this.lockName) ?? 0 };
  }

  /** True if each child has a place in the queue by its name, as in Curator. */
  get waitsForAll(): boolean {
    return this.#lock.foreignNodes === 'wait';
  }

  refuseForeign(foreign: readonly string[]): void {
    if (foreign.length > 0 && !this.waitsForAll) throw new ForeignNodeError(this.#lock.path, foreign);
  }

  /** The names in one of which a bit may have been changed. Many of them are there for another reason. */
  #doubtfulIn(listing: Listing): string {
    const { foreign } = listing.queue(this.driver);
    const names = [...listing.doubtful, ...foreign];
    return names.length <= 2 ? names.join('/') : '';
  }

  isFree(sorted: readonly string[]): boolean {
    return this.driver.decide(this.driver.sort([...sorted, this.#newcomer]), this.#newcomer).held;
  }
}

/** The lock that the queue belongs to. */
export interface OrderedLock {
  readonly path: string;
  /**
   * The rule for a child that this kind of lock did not create: the acquire fails, or the child has a place in the
   * queue by its name.
   */
  readonly foreignNodes: 'reject' | 'wait';
  /** True if the deletion of any earlier child may let a waiter be granted. @default false */
  readonly watchesChildren?: boolean;
}

class OrderedView implements QueueView {
  readonly #queue: OrderedQueue;
  readonly #listing: Listing;

  constructor(queue: OrderedQueue, listing: Listing) {
    this.#queue = queue;
    this.#listing = listing;
  }

  get zxid(): bigint {
    return this.#listing.zxid;
  }

  standingOf(name: string): Standing {
    const { driver } = this.#queue;
    const sorted = this.#sorted();
    const position = sorted.indexOf(name);
    if (position < 0) return absent;
    const decision = driver.decide(sorted, name);
    if (decision.held) return holder;
    const { watch } = decision;
    if (this.#queue.watchesChildren)
      return { is: 'waiting', position, watch, isNext: true, isAdjacent: false, children: sorted };
    const isAdjacent = watch === sorted[position - 1];
    if (!isAdjacent) refuseWatch(sorted.slice(0, position), watch);
    const isNext = this.#queue.isFirstComeFirstServed
      ? position === 1
      : driver.decide(
          sorted.filter((other) => other !== watch),
          name,
        ).held;
    return {
      is: 'waiting',
      position,
      watch,
      isNext,
      isAdjacent,
      before: isAdjacent ? sorted[position - 2] : undefined,
    };
  }

  get isFree(): boolean {
    return this.#queue.isFree(this.#sorted());
  }

  /**
   * Only the participants of this kind, if several kinds share a queue: readers list the readers, as in Curator. Children
   * of no kind are participants if the lock waits for them.
   */
  get order(): readonly string[] {
    const { driver } = this.#queue;
    const { names } = this.#listing;
    const hidden = new Set(foreignNames(names, driver.lockName));
    if (this.#queue.waitsForAll) for (const name of this.#foreign) hidden.delete(name);
    return driver.sort(names.filter((name) => !hidden.has(name)));
  }

  get holder(): string | undefined {
    const { driver, waitsForAll } = this.#queue;
    const { names } = this.#listing;
    const unknown = new Set(waitsForAll ? [] : this.#foreign);
    // The order of all kinds in the queue decides. The holder to return is one of this kind.
    const sorted = driver.sort(names.filter((name) => !unknown.has(name)));
    const first = this.order.find((name) => driver.decide(sorted, name).held);
    if (first === undefined) this.#queue.refuseForeign([...unknown]);
    return first;
  }

  /** The children of no kind of the queue. */
  get #foreign(): readonly string[] {
    return this.#listing.queue(this.#queue.driver).foreign;
  }

  get only(): string | undefined {
    const sorted = this.#sorted();
    return sorted.length === 1 ? sorted[0] : undefined;
  }

  without(name: string): QueueView {
    return new OrderedView(this.#queue, this.#listing.without(name));
  }

  #sorted(): readonly string[] {
    const { sorted, foreign } = this.#listing.queue(this.#queue.driver);
    this.#queue.refuseForeign(foreign);
    return sorted;
  }
}

const absent: Standing = { is: 'absent' };
const holder: Standing = { is: 'holder' };

/** A driver that names a child behind the waiter would let the waiter wait for no reason, or list again without end. */
function refuseWatch(before: readonly string[], watch: string): void {
  if (!before.includes(watch))
    throw new TypeError(expected('the watch of driver.decide', 'a child that is before the waiter', watch));
}
