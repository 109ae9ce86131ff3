import type { Reader, Writer } from './wire.js';

/**
 * One request: how to write it, how to read its answer, and what the answer proves (`write`: the request went through
 * the quorum).
 */
export interface Operation<T> {
  readonly name: string;
  readonly opcode: number;
  readonly kind: 'read' | 'sync' | 'write';
  /** The path below the chroot, unless the operation is absolute. */
  readonly path: string;
  /** True if the paths are the servers' paths, with the chroot. @default false */
  readonly isAbsolute?: boolean;
  /** True if the request only shows that the session lives. It overtakes the others that were not sent yet. */
  readonly isProof?: boolean;
  /** The opcode of its result in a transaction, if it is another one. */
  readonly resultOpcode?: number;
  /**
   * Called right before the request is written. If it throws, the request is not sent, and rejects with that error. It
   * may send other requests.
   */
  beforeWrite?(): void;
  write(to: Writer): unknown;
  read(from: Reader): T;
  /**
   * The number of an error in the value of `read` that is about the session or the server, and not about the request; 0
   * for none. The header of such an answer has no error. By default there is none.
   */
  sessionError?(value: unknown): number;
}

/** The fields of a znode's Stat that locks need. */
export interface Stat {
  readonly czxid: bigint;
  /** The last transaction that wrote the znode's data. Equal to czxid until the first write. */
  readonly mzxid: bigint;
  readonly createdAtMs: number;
  /** The number of writes to the znode's data. */
  readonly version: number;
  readonly ephemeralOwner: bigint;
}

/** The children of a znode. */
export interface ChildList {
  readonly names: string[];
  /** The number that the next sequential child gets. */
  readonly next: number;
  /** The transaction that created or deleted a child last. */
  readonly pzxid: bigint;
}

/**
 * Permissions of one account or group on a znode, as in ZooKeeper's ACLs.
 *
 * @example
 * const acl: AclEntry[] = [{ permissions: 31, scheme: 'auth', id: '' }]; // all permissions, for the client's own account
 */
export interface AclEntry {
  /** The sum of 1 read, 2 write, 4 create, 8 delete and 16 admin: an integer from 1 to 31. */
  readonly permissions: number;
  /** `world`, `auth`, `digest`, `ip`, or another scheme that the servers know. */
  readonly scheme: string;
  /**
   * The account or group in the form of the scheme: `anyone` for `world`, the empty string for `auth`,
   * `user:base64(sha1(user:password))` for `digest`.
   */
  readonly id: string;
}

export const openAcl: readonly AclEntry[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

/** The change that a watch reports. */
export type WatchEventType = 'created' | 'deleted' | 'changed' | 'children';

/** The subject of a watch: a znode's data and deletion, or its list of children. */
export type WatchKind = 'data' | 'children';

/** Creates an ephemeral-sequential znode. The answer contains the name that the server gave it, and its Stat. */
export function createSequential(
  path: string,
  data: Uint8Array,
  acl: readonly AclEntry[],
): Operation<{ path: string; stat: Stat }> {
  return creation('create2', path, data, acl, createModes.ephemeralSequential, (from) => ({
    path: readSequential(from, path),
    stat: readStat(from),
  }));
}

/** Creates an ephemeral znode with exactly this name. In a transaction, the answer has no Stat (3.8.0). */
export function createEphemeral(path: string, data: Uint8Array, acl: readonly AclEntry[]): Operation<string> {
  return creation('create', path, data, acl, createModes.ephemeral, readPath);
}

/** Creates a parent that the server removes once it is empty again. */
export function createContainer(path: string, acl: readonly AclEntry[]): Operation<string> {
  return creation('createContainer', path, noData, acl, createModes.container, readPath);
}

/** Creates a parent on a server that does not support containers (CURATOR-565). */
export function createPersistent(path: string, acl: readonly AclEntry[]): Operation<string> {
  return creation('create', path, noData, acl, createModes.persistent, readPath);
}

export function remove(path: string, version = anyVersion): Operation<void> {
  return operation('delete', 'write', path, (to) => to.path(path).int(version), nothing);
}

/**
 * Lists the ephemeral znodes of the session, by the servers' paths. A server before 3.6 answers UNIMPLEMENTED, and closes
 * the connection.
 */
export function getEphemerals(): Operation<string[]> {
  const write = (to: Writer): Writer => to.path('/');
  return absolute(operation('getEphemerals', 'read', '/', write, (from) => from.texts()));
}

/** With `watch`, it also reports the creation of the znode. No other request does. */
export function exists(path: string, watch = false): Operation<Stat> {
  return operation('exists', 'read', path, (to) => to.path(path).flag(watch), readStat);
}

export function setData(path: string, data: Uint8Array, version = anyVersion): Operation<Stat> {
  return operation('setData', 'write', path, (to) => to.path(path).bytes(data).int(version), readStat);
}

export function getData(path: string, watch: boolean): Operation<{ data: Buffer; stat: Stat }> {
  return operation('getData', 'read', path, (to) => to.path(path).flag(watch), readData);
}

export function getChildren(path: string, watch = false): Operation<string[]> {
  return operation('getChildren2', 'read', path, (to) => to.path(path).flag(watch), readNames);
}

/** As `getChildren`, with what else the answer says of the list. */
export function getChildList(path: string, watch = false): Operation<ChildList> {
  return operation('getChildren2', 'read', path, (to) => to.path(path).flag(watch), readChildren);
}

/** Lets the server catch up with its leader before it answers the next requests on this connection. */
export function sync(path: string): Operation<string> {
  return operation('sync', 'sync', path, (to) => to.path(path), readPath);
}

/** The same operation with the servers' paths, without the chroot. */
export function absolute<T>(operation: Operation<T>): Operation<T> {
  return { ...operation, isAbsolute: true };
}

/** Removes this session's watch on a path. Otherwise the server would keep the watch as long as the znode exists. */
export function removeWatch(path: string, kind: WatchKind): Operation<void> {
  return operation('removeWatches', 'read', path, (to) => to.path(path).int(watcherTypes[kind]), nothing);
}

/**
 * Watches a znode and everything below it, until the connection ends. The server reports each creation, deletion and
 * write, but no list of children. The znode need not exist. A server before 3.6 answers UNIMPLEMENTED, and closes the
 * connection.
 */
export function addRecursiveWatch(path: string): Operation<void> {
  return operation('addWatch', 'read', path, (to) => to.path(path).int(persistentRecursive), nothing);
}

/** Ends a watch of `addRecursiveWatch`. */
export function removeRecursiveWatch(path: string): Operation<void> {
  return operation('removeWatches', 'read', path, (to) => to.path(path).int(anyWatcher), nothing);
}

/**
 * Plants the watches on a new connection. The server reports at once the changes since `zxid`. Asks for the paths each
 * time when it is sent.
 */
export function setWatches(zxid: bigint, kind: WatchKind, paths: () => readonly string[]): Operation<void> {
  const write = (to: Writer): Writer => {
    const [data, children] = kind === 'data' ? [paths(), []] : [[], paths()];
    return to.long(zxid).paths(data).paths([]).paths(children);
  };
  return operation('setWatches', 'read', '/', write, nothing);
}

/** Keeps the session alive without a transaction. The server answers it by its xid alone. */
export const ping: Operation<void> = {
  name: 'ping',
  opcode: 11,
  kind: 'read',
  path: '/',
  write: nothing,
  read: nothing,
};

/** The server ends the session, deletes its znodes, answers, and closes the connection. */
export function closeSession(): Operation<void> {
  return operation('closeSession', 'write', '/', nothing, nothing);
}

/** ZooKeeper's ZooDefs.OpCode. */
export const opcodes = {
  create: 1,
  delete: 2,
  exists: 3,
  getData: 4,
  setData: 5,
  sync: 9,
  getChildren2: 12,
  check: 13,
  multi: 14,
  create2: 15,
  removeWatches: 18,
  createContainer: 19,
  createTTL: 21,
  setWatches: 101,
  getEphemerals: 103,
  addWatch: 106,
  closeSession: -11,
} as const;

/** ZooKeeper's CreateMode. */
export const createModes = {
  persistent: 0,
  ephemeral: 1,
  persistentSequential: 2,
  ephemeralSequential: 3,
  container: 4,
  persistentWithTtl: 5,
  persistentSequentialWithTtl: 6,
} as const;
/** ZooKeeper's WatcherType. */
const watcherTypes: Readonly<Record<WatchKind, number>> = { children: 1, data: 2 };
/** ZooKeeper's AddWatchMode. */
const persistentRecursive = 1;
const anyWatcher = 3;
export const anyVersion = -1;
const noData = new Uint8Array(0);

export function operation<T>(
  name: keyof typeof opcodes,
  kind: Operation<T>['kind'],
  path: string,
  write: (to: Writer) => unknown,
  read: (from: Reader) => T,
): Operation<T> {
  return { name, opcode: opcodes[name], kind, path, write, read };
}

export function creation<T>(
  name: 'create' | 'create2' | 'createContainer' | 'createTTL',
  path: string,
  data: Uint8Array,
  acl: readonly AclEntry[],
  mode: number,
  read: (from: Reader) => T,
): Operation<T> {
  return operation(
    name,
    'write',
    path,
    (to) => {
      (isSequential(mode) ? to.pathStart(path) : to.path(path)).bytes(data).int(acl.length);
      for (const entry of acl) to.int(entry.permissions).text(entry.scheme).text(entry.id);
      return to.int(mode);
    },
    read,
  );
}

function isSequential(mode: number): boolean {
  const { persistentSequential, ephemeralSequential, persistentSequentialWithTtl } = createModes;
  return mode === persistentSequential || mode === ephemeralSequential || mode === persistentSequentialWithTtl;
}

export function readPath(from: Reader): string {
  return from.path();
}

function readData(from: Reader): { data: Buffer; stat: Stat } {
  return { data: from.bytes(), stat: readStat(from) };
}

/** The path of a new znode is the asked one, with a number. Under any other path, a foreign znode would be deleted. */
function readSequential(from: Reader, asked: string): string {
  const path = from.path();
  if (!path.startsWith(asked) || path.includes('/', asked.length))
    throw new RangeError(`The server created another znode than the one that was asked for, ${asked}`);
  return path;
}

function readNames(from: Reader): string[] {
  return readChildren(from).names;
}

/** A list in which a count or a length was changed on its way must not hide a znode. */
function readChildren(from: Reader): ChildList {
  const names = from.texts();
  from.skip(36); // czxid, mzxid, ctime, mtime, version
  const changes = from.int();
  from.skip(16); // aversion, ephemeralOwner, dataLength
  const children = from.int();
  const pzxid = from.long();
  from.end();
  for (const name of names)
    if (name === '' || name.includes('/')) throw new RangeError('The list of children contains a name that is none');
  // The servers count each create and each delete as a change, in 32 bits, and number the children by the creates.
  return { names, next: ((changes + children) >>> 0) / 2, pzxid };
}

export function readStat(from: Reader): Stat {
  const czxid = from.long();
  const mzxid = from.long();
  const createdAtMs = Number(from.long());
  from.skip(8); // mtime
  const version = from.int();
  from.skip(8); // cversion, aversion
  const ephemeralOwner = from.long();
  from.skip(16); // dataLength, numChildren, pzxid
  return { czxid, mzxid, createdAtMs, version, ephemeralOwner };
}

export function nothing(): void {
  // The record has no body.
}
