import type { LockHost } from '../client/lock-host.js';
import type { LockDriver } from '../driver/lock-driver.js';
import type { Grant } from '../internals/grant.js';
import type { QueueOptions, LockInternals } from '../internals/lock-internals.js';
import type { Participant } from '../internals/participants.js';
import type { ParticipantName } from '../internals/queue-view.js';
import type { InternalLock } from '../internals/znode-queue.js';
import type { Deadline } from '../support/deadline.js';
import type { MutexAcquireOptions } from './acquire-options.js';

/**
 * The way in which a mutex waits for its lock and gives it up. Curator's way is the default. Each other way stands in a
 * room of its own, above this one, and adds its option with {@link addWay}.
 */
export interface MutexWay {
  /** The option as source text; undefined for Curator's way. */
  readonly text: string | undefined;
  /** True if objects of one path may have these two ways. */
  agrees(other: MutexWay): boolean;
  /** @throws TypeError or RangeError for an option of an acquire that this way does not allow */
  checkAcquire(options: MutexAcquireOptions): void;
  queueOf(lock: QueuedLock): MutexQueue;
}

/** One lock, as a mutex object waits for it. */
export interface MutexQueue {
  readonly lockName: string;
  /** The lock names of all znodes in the same queue. */
  readonly lockNames: readonly string[];
  /** The znodes whose data the lock itself writes, apart from those of its participants. */
  readonly writes: readonly string[];
  /** Resolves with a grant; with undefined if the deadline does not allow waiting and the lock is not free. */
  acquire(deadline: Deadline, wish: Wish): Promise<Grant | undefined>;
  participants(deadline: Deadline): Promise<Participant[]>;
  holder(deadline: Deadline): Promise<Participant | undefined>;
}

/** The options of one acquire. */
export interface Wish extends QueueOptions {
  readonly options: MutexAcquireOptions;
}

/** The parts that a way needs from the mutex object. */
export interface QueuedLock extends Pick<InternalLock, 'host' | 'path' | 'data' | 'listener'> {
  readonly driver: LockDriver;
  readonly foreignNodes: 'reject' | 'wait';
  /** The state that the object shares with other objects. */
  readonly shared: UsedLock;
}

/** The state of a lock that all objects of one client share. It exists while it is used. */
export interface UsedLock {
  use(): void;
  leave(): void;
}

/** The options of a mutex that its way may refuse. */
export interface OtherOptions {
  readonly driver?: LockDriver | undefined;
  readonly foreignNodes?: 'reject' | 'wait' | undefined;
}

/** The option of InterProcessMutex that asks for another way than Curator's. */
export interface WayOption {
  readonly name: string;
  /** The names of the acquire options that only this way has. */
  readonly acquireNames: readonly string[];
  /** @throws TypeError or RangeError for a bad option */
  wayOf(value: unknown, others: OtherOptions): MutexWay;
  isWay(way: MutexWay): boolean;
  /** @throws TypeError for an acquire option of this way, at a mutex that has another one */
  refuseAcquire?(options: MutexAcquireOptions): void;
  /** A single try of a lock of Curator's way that a holder of this way may keep without using it. */
  tryAcquire?(lock: TriedLock, deadline: Deadline, options: QueueOptions): Promise<Grant | undefined>;
  /** The participants of this way, if their names alone do not show their order. */
  readonly names?: WayNames;
}

export interface TriedLock {
  readonly host: LockHost;
  readonly path: string;
  readonly internals: LockInternals;
}

/** Reads the queue of a way whose order depends on the data of the lock's znode. */
export interface WayNames {
  isOwn(name: string): boolean;
  describe(name: string): ParticipantName;
  /** The participants in order. The data are undefined if the znode does not exist. */
  inOrder(names: readonly string[], data: Buffer | undefined): string[];
}

const options: WayOption[] = [];

/** Adds the option of a way. Called when the module of the way is loaded. */
export function addWay(option: WayOption): void {
  options.push(option);
}

export function wayOptions(): readonly WayOption[] {
  return options;
}
