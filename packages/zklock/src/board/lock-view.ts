import { compareKeys } from '../../../../src/driver/names.js';
import { decodeClaim } from '../../../../src/weighted/claim.js';
import { weightedChild } from '../../../../src/weighted/weighted-name.js';
import { WeightedQueue } from '../../../../src/weighted/weighted-queue.js';
import { join } from '../../../../src/zookeeper/wire/path.js';
import type { ParticipantKind } from './participant-name.js';
import type { ParticipantZnode, Unreadable } from './participant-znode.js';
import { Directory } from './znode-tree.js';

/** One lock as the znodes show it. */
export interface LockView {
  readonly path: string;
  readonly kind: BoardLockKind;
  readonly holders: readonly ParticipantZnode[];
  /** The next one first. */
  readonly waiters: readonly ParticipantZnode[];
  /** The number of other children, which are no participants of this kind of lock. */
  readonly others: number;
  /** The fencing token of the holders of a lock with weights. Of other locks, it is each holder's czxid. */
  readonly claimToken: bigint | undefined;
  /** The time since which a znode of the lock may not be read, in milliseconds since 1970. Undefined if all may be read. */
  readonly unreadableSince: number | undefined;
}

/** The znodes below the root, as far as they are known. */
export interface KnownZnodes {
  readonly directories: ReadonlyMap<string, Directory>;
  readonly unreadable: ReadonlyMap<string, Unreadable>;
}

/** `mutex` with or without sticky holders; `election`: Curator's leader latch. */
export type BoardLockKind = 'mutex' | 'read-write' | 'weighted' | 'semaphore' | 'election';

/**
 * The lock at a path; undefined if there is none.
 *
 * @param known the kind of the lock that was there before: a lock without participants keeps it
 */
export function lockAt(path: string, znodes: KnownZnodes, known?: BoardLockKind): LockView | undefined {
  const { directories } = znodes;
  const directory = directories.get(path);
  if (!directory) return undefined;
  const semaphore = semaphoreAt(path, znodes);
  if (semaphore) return semaphore;
  if (isPartOfSemaphore(path, znodes)) return undefined;
  const all = sorted(directory, directories);
  const kind = kindOf(all, known);
  if (kind === undefined) return undefined;
  const queue = all.filter(({ name }) => participantsOf[kind].has(name.is));
  const others = othersIn(path, znodes) + all.length - queue.length;
  if (kind === 'weighted') return { ...weighted(path, directory, queue), others };
  const holders = kind === 'read-write' ? readersOrWriter(queue) : queue.slice(0, 1);
  const waiters = queue.slice(holders.length);
  return { path, kind, holders, waiters, others, claimToken: undefined, unreadableSince: unreadableSinceIn(queue) };
}

/** The number of children that are no participants of any lock: znodes of another program, or locks themselves. */
export function othersIn(
  path: string,
  { directories }: Pick<KnownZnodes, 'directories'>,
  besides: readonly string[] = [],
): number {
  const directory = directories.get(path);
  if (!directory) return 0;
  const unnamed = [...directory.subdirectories].filter((name) => !besides.includes(name));
  const named = [...directory.participants.values()].filter((znode) => directories.get(znode.path)?.hasChildren);
  return unnamed.length + named.length;
}

/**
 * True if the participants that may not be read can hide the holders. The znodes of a semaphore show only by their
 * sessions which permits are granted. In all other locks, the names show the holder.
 */
export function areHoldersHidden({ kind, unreadableSince }: LockView): boolean {
  return kind === 'semaphore' && unreadableSince !== undefined;
}

/** The paths of the locks that a change of this directory may change. */
export function locksTouchedBy(directory: string): string[] {
  const { parent, name } = split(directory);
  // The other part of a semaphore is, or is not, a lock of its own.
  return name === 'leases' || name === 'locks' ? [parent, join(parent, 'leases'), join(parent, 'locks')] : [directory];
}

/** Curator's layout: permits below `leases`, and below `locks` the mutex whose holder takes the next permit. */
function semaphoreAt(path: string, znodes: KnownZnodes): LockView | undefined {
  const { directories, unreadable } = znodes;
  const leases = directories.get(join(path, 'leases'));
  if (!leases) return undefined;
  // The servers delete the container of the mutex when nobody has waited for a while.
  const locks = directories.get(join(path, 'locks')) ?? new Directory(join(path, 'locks'));
  if (!directories.has(locks.path) && leases.participants.size === 0) return undefined;
  if (kindOf([...leases.participants.values()], 'semaphore') !== 'semaphore') return undefined;
  if (kindOf([...locks.participants.values()], 'mutex') !== 'mutex') return undefined;
  const [inLeases, inLocks] = [sorted(leases, directories), sorted(locks, directories)];
  const permits = inLeases.filter(({ name }) => name.is === 'lease');
  const waiters = inLocks.filter(({ name }) => name.is === 'lock');
  const strays = inLeases.length + inLocks.length - permits.length - waiters.length;
  const folders = [leases, locks].map((folder) => ({ unreadableSince: unreadable.get(folder.path)?.sinceMs }));
  return {
    path,
    kind: 'semaphore',
    holders: permits.slice(0, permits.length - awaited(permits, waiters[0], locks.grantsBefore)),
    waiters,
    // `leases` and `locks` themselves are none.
    others:
      othersIn(path, znodes, semaphoreFolders) + othersIn(leases.path, znodes) + othersIn(locks.path, znodes) + strays,
    claimToken: undefined,
    unreadableSince: unreadableSinceIn([...folders, ...permits, ...waiters]),
  };
}

/**
 * Called when a participant has left. The holder of a semaphore's mutex leaves when its permits are granted, so the
 * permits that exist then are granted. If only a list showed that it has left, the next holder may have created its
 * permits before that list. They are newer than the transaction `latest`, unless another waiter came after them.
 */
export function noteGrants(
  left: ParticipantZnode,
  locks: Directory,
  { directories, latest }: { directories: ReadonlyMap<string, Directory>; latest: bigint | undefined },
): void {
  const { parent, name } = split(locks.path);
  if (name !== 'locks') return;
  for (const other of locks.participants.values()) if (byPlace(other, left) < 0) return;
  if (latest !== undefined) {
    locks.grantsBefore = latest;
    return;
  }
  for (const permit of directories.get(join(parent, 'leases'))?.participants.values() ?? []) permit.isGranted = true;
}

/**
 * The number of the last permits that are not granted yet. The holder of the mutex creates its znodes first, and
 * releases the mutex when they are granted.
 */
function awaited(
  permits: readonly ParticipantZnode[],
  turn: ParticipantZnode | undefined,
  grantsBefore: bigint,
): number {
  const own = turn?.content;
  if (!own) return 0;
  const isGranted = ({ content, isGranted }: ParticipantZnode): boolean =>
    isGranted ||
    content?.sessionId !== own.sessionId ||
    content === undefined ||
    content.czxid < own.czxid ||
    content.czxid < grantsBefore;
  return permits.length - 1 - permits.findLastIndex(isGranted);
}

/** The mutex of a new semaphore is there before the permits, and until then looks as any mutex of this name. */
export function mayBecomePartOfSemaphore({ path, kind }: LockView): boolean {
  return kind === 'mutex' && split(path).name === 'locks';
}

/** True for a queue that is no lock of its own. */
export function isPartOfSemaphore(path: string, znodes: KnownZnodes): boolean {
  const { parent, name } = split(path);
  return (name === 'leases' || name === 'locks') && semaphoreAt(parent, znodes) !== undefined;
}

function unreadableSinceIn(znodes: readonly Pick<ParticipantZnode, 'unreadableSince'>[]): number | undefined {
  const since = znodes.map(({ unreadableSince }) => unreadableSince).filter((each) => each !== undefined);
  return since.length > 0 ? Math.min(...since) : undefined;
}

const semaphoreFolders = ['leases', 'locks'];

/** Kazoo's write lock is named as its plain lock is. */
const participantsOf: Readonly<Record<BoardLockKind, ReadonlySet<ParticipantKind>>> = {
  weighted: new Set(['weighted']),
  'read-write': new Set(['write', 'read', 'kazoo-lock']),
  election: new Set(['latch']),
  mutex: new Set(['lock', 'kazoo-lock']),
  semaphore: new Set(['lease']),
};

/**
 * The kind that was known before while it has participants, else the kind of the oldest participant: a znode that comes
 * into a queue later does not change what the queue is. A znode that no session owns counts only where nothing else shows
 * the kind, because it may have been created by hand.
 */
function kindOf(queue: readonly ParticipantZnode[], known?: BoardLockKind): BoardLockKind | undefined {
  const owned = queue.filter(({ content }) => !content || content.sessionId !== undefined);
  if (owned.length === 0 && known !== undefined) return known;
  const shown = owned.length > 0 ? owned : queue;
  const hasReaders = shown.some(({ name }) => name.is === 'read' || name.is === 'write');
  const kindFor = ({ name }: ParticipantZnode): BoardLockKind => {
    if (name.is !== 'kazoo-lock') return kinds[name.is];
    return hasReaders || known === 'read-write' ? 'read-write' : 'mutex';
  };
  if (known !== undefined && shown.some((znode) => kindFor(znode) === known)) return known;
  return shown.length === 0 ? undefined : kindFor(shown.reduce((a, b) => (isOlder(b, a) ? b : a)));
}

const kinds: Readonly<Record<Exclude<ParticipantKind, 'kazoo-lock'>, BoardLockKind>> = {
  weighted: 'weighted',
  write: 'read-write',
  read: 'read-write',
  latch: 'election',
  lock: 'mutex',
  lease: 'semaphore',
};

function isOlder(a: ParticipantZnode, b: ParticipantZnode): boolean {
  return a.content && b.content ? a.content.czxid < b.content.czxid : byPlace(a, b) < 0;
}

/**
 * A znode that is not known yet is left out: the answer is under way. So is a znode with children, which is a
 * lock itself.
 */
function sorted({ participants }: Directory, directories: ReadonlyMap<string, Directory>): ParticipantZnode[] {
  const read: ParticipantZnode[] = [];
  for (const znode of participants.values())
    if (znode.isKnown && !directories.get(znode.path)?.hasChildren) read.push(znode);
  return read.sort(byPlace);
}

/** A writer and the reader that it downgrades to have the same number. */
function byPlace(a: ParticipantZnode, b: ParticipantZnode): number {
  return (
    compareKeys(a.name.key, b.name.key) ||
    Number(a.name.is === 'read') - Number(b.name.is === 'read') ||
    compareKeys(a.path, b.path)
  );
}

/** The first writer with its downgrade, or all readers before the first writer. */
function readersOrWriter(queue: readonly ParticipantZnode[]): ParticipantZnode[] {
  const [first] = queue;
  if (first && first.name.is !== 'read')
    return queue.filter(({ name }, index) => index === 0 || (name.is === 'read' && name.key === first.name.key));
  const end = queue.findIndex(({ name }) => name.is !== 'read');
  return queue.slice(0, end < 0 ? queue.length : end);
}

/** The names do not show the holder of a lock with weights. The data of the lock's znode do. */
function weighted(path: string, { claim }: Directory, queue: readonly ParticipantZnode[]): Omit<LockView, 'others'> {
  const byName = new Map(queue.map((znode) => [znode.path.slice(path.length).replace('/', ''), znode]));
  const children = [...byName.keys()].map((name) => weightedChild(name)).filter((child) => child !== undefined);
  const decoded = claim && decodeClaim(claim.data);
  const order = new WeightedQueue(children, typeof decoded === 'object' ? decoded : undefined);
  const holder = order.holder === undefined ? undefined : byName.get(order.holder);
  const waiters = [...order.order.keys()].map((name) => byName.get(name)).filter((znode) => znode !== undefined);
  return {
    path,
    kind: 'weighted',
    holders: holder ? [holder] : [],
    waiters: waiters.filter((znode) => znode !== holder),
    claimToken: holder ? claim?.mzxid : undefined,
    unreadableSince: unreadableSinceIn(queue),
  };
}

function split(path: string): { readonly parent: string; readonly name: string } {
  const slash = path.lastIndexOf('/');
  return { parent: path.slice(0, slash) || '/', name: path.slice(slash + 1) };
}
