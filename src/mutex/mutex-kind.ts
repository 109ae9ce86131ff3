import type { LockHost } from '../client/lock-host.js';
import { lightest, weightedMark } from '../weighted/weighted-name.js';
import type { Grant } from '../internals/grant.js';
import { LockInternals } from '../internals/lock-internals.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { readHolder, readParticipants, type Participant } from '../internals/participants.js';
import type { Deadline } from '../support/deadline.js';
import type { QueueKind } from '../internals/queue-view.js';
import type { LockInternalsOptions } from '../internals/znode-queue.js';
import { IdleLock } from '../sticky/idle-lock.js';
import { StickyLock } from '../sticky/sticky-lock.js';
import { protectedPrefix, stickyUuid } from '../driver/names.js';
import { WeightedKind } from '../weighted/weighted-kind.js';
import { join } from '../zookeeper/path.js';
import type { CheckedMutexOptions } from './mutex-options.js';
import type { SharedLock } from './shared-lock.js';

/** The differences between a mutex in Curator's order, a sticky mutex, and a mutex with weights. */
export interface MutexKind {
  readonly lockName: string;
  /** The lock names of all znodes in the same queue. */
  readonly lockNames: readonly string[];
  readonly hasWeights: boolean;
  readonly isSticky: boolean;
  /** Resolves with a grant; with undefined if the deadline does not allow waiting and the lock is not free. */
  acquire(deadline: Deadline, wish: Wish): Promise<Grant | undefined>;
  participants(deadline: Deadline): Promise<Participant[]>;
  holder(deadline: Deadline): Promise<Participant | undefined>;
}

/** The options of one acquire. */
export interface Wish {
  readonly weight: number | undefined;
  /** The data to write into the znode instead of the object's data. */
  readonly data: Uint8Array | undefined;
  /** For a read lock: the write lock that the same owner holds now. */
  readonly heldForWriting: (() => Grant | undefined) | undefined;
}

export function mutexKind(host: LockHost, path: string, options: CheckedMutexOptions, tools: WaitTools): MutexKind {
  return options.weights ? weighted(host, path, options.weights, tools) : ordered(host, path, options, tools);
}

function weighted(
  host: LockHost,
  path: string,
  { overtakesPerWeight }: { readonly overtakesPerWeight: number },
  tools: WaitTools,
): MutexKind {
  const kindOf = (weight: number): WeightedKind => new WeightedKind(weight, overtakesPerWeight, path);
  const internals = new Map<number, LockInternals>();
  const checkAcl = once(() => host.options.requireWrite(path, 'a lock with weights'));
  return {
    lockName: weightedMark,
    lockNames: [weightedMark],
    hasWeights: true,
    isSticky: false,
    acquire: (deadline, { weight = lightest, data }) => {
      checkAcl();
      const known = internals.get(weight) ?? new LockInternals(host, path, internalsOptions(kindOf(weight), tools));
      internals.set(weight, known);
      return known.acquire(deadline, { data });
    },
    ...readers(host, path, kindOf(lightest)),
  };
}

function ordered(
  host: LockHost,
  path: string,
  { driver, foreignNodes, sticky }: CheckedMutexOptions,
  tools: WaitTools,
): MutexKind {
  const kind = new OrderedQueue(driver, { path, foreignNodes });
  const plain = new LockInternals(host, path, internalsOptions(kind, tools, { hasMarkedUuid: sticky !== undefined }));
  const asking = { internals: plain, data: tools.data };
  const checkAcl = once(() => {
    const ownZnode = join(path, protectedPrefix(stickyUuid(host.chance.uuid()), driver.lockName));
    host.options.requireWrite(ownZnode, 'a sticky lock');
  });
  const kept = (idleMs: number): StickyLock => {
    const { shared } = tools;
    return (shared.sticky ??= new StickyLock(host, path, {
      idleMs,
      path,
      clock: host.clock,
      use: () => shared.use(),
      leave: () => shared.leave(),
    }));
  };
  return {
    lockName: driver.lockName,
    lockNames: driver.lockNames ?? [driver.lockName],
    hasWeights: false,
    isSticky: sticky !== undefined,
    acquire: (deadline, { heldForWriting, data }) => {
      if (sticky) {
        checkAcl();
        return kept(sticky.idleMs).acquire(deadline, asking);
      }
      // A read lock whose owner holds the write lock is granted at once, so it asks no sticky holder.
      if (deadline.mayWait || heldForWriting?.()) return plain.acquire(deadline, { data, heldForWriting });
      return new IdleLock(host, path, plain).tryAcquire(deadline, { data });
    },
    ...readers(host, path, kind),
  };
}

function internalsOptions(kind: QueueKind, tools: WaitTools, { hasMarkedUuid = false } = {}): LockInternalsOptions {
  return {
    kind,
    data: tools.data,
    hasMarkedUuid,
    get queued() {
      return tools.queued;
    },
  };
}

function readers(host: LockHost, path: string, kind: QueueKind): Pick<MutexKind, 'participants' | 'holder'> {
  return {
    participants: (deadline) => readParticipants(host, path, kind, deadline),
    holder: (deadline) => readHolder(host, path, kind, deadline),
  };
}

/** Calls `run` until it has succeeded once. */
function once(run: () => void): () => void {
  let isDone = false;
  return () => {
    if (!isDone) run();
    isDone = true;
  };
}

/** The parts that a wait needs from the mutex object. */
export interface WaitTools extends Pick<LockInternalsOptions, 'data' | 'queued'> {
  /** The state that the object shares with other objects. */
  readonly shared: SharedLock;
}
