import type { Reader, Writer } from './wire.js';
import { ZooKeeperError } from './zookeeper-error.js';

/**
 * One request: how it is written, how its answer is read, and what the answer proves (`write`: it went through the
 * quorum).
 */
export interface Operation<T> {
  readonly name: string;
  readonly opcode: number;
  readonly kind: 'read' | 'sync' | 'write';
  /** Below the chroot, unless it is absolute. */
  readonly path: string;
  /** Its paths are those of the servers. @default false */
  readonly isAbsolute?: boolean;
  write(to: Writer): unknown;
  read(from: Reader): T;
}

/** A znode's Stat, as far as locks need it. */
export interface Stat {
  readonly czxid: bigint;
  /** The last transaction that wrote its data; its czxid for as long as nobody has. */
  readonly mzxid: bigint;
  readonly createdAtMs: number;
  /** How often its data were written. */
  readonly version: number;
  readonly ephemeralOwner: bigint;
}

/**
 * Who may do what with a znode, as ZooKeeper's ACLs say it.
 *
 * @example
 * const acl: AclEntry[] = [{ permissions: 31, scheme: 'auth', id: '' }]; // all rights, for whoever the client has
 * authenticated as
 */
export interface AclEntry {
  /** The sum of 1 read, 2 write, 4 create, 8 delete and 16 admin: an integer from 1 to 31. */
  readonly permissions: number;
  /** `world`, `auth`, `digest`, `ip`, or another that the servers know. */
  readonly scheme: string;
  /**
   * Who, as the scheme writes it: `anyone` for `world`, nothing for `auth`, `user:base64(sha1(user:password))` for
   * `digest`.
   */
  readonly id: string;
}

export const openAcl: readonly AclEntry[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

/** What a watch is about: a znode's data and its deletion, or which children it has. */
export type WatchKind = 'data' | 'children';

/** An ephemeral-sequential znode, answered with the name that the server gave it and its Stat. */
export function createSequential(
  path: string,
  data: Uint8Array,
  acl: readonly AclEntry[],
): Operation<{ path: string; stat: Stat }> {
  return {
    ...creation('create2', path, data, acl, createModes.ephemeralSequential),
    read: (from) => ({ path: from.path(), stat: readStat(from) }),
  };
}

/** An ephemeral znode under exactly this name. In a transaction it is answered without its Stat (3.8.0). */
export function createEphemeral(path: string, data: Uint8Array, acl: readonly AclEntry[]): Operation<string> {
  return { ...creation('create', path, data, acl, createModes.ephemeral), read: (from) => from.path() };
}

/** A parent that the server removes once it is empty again. */
export function createContainer(path: string, acl: readonly AclEntry[]): Operation<string> {
  return { ...creation('createContainer', path, noData, acl, createModes.container), read: (from) => from.path() };
}

/** A parent where the server knows no containers (CURATOR-565). */
export function createPersistent(path: string, acl: readonly AclEntry[]): Operation<string> {
  return { ...creation('create', path, noData, acl, createModes.persistent), read: (from) => from.path() };
}

export function remove(path: string): Operation<void> {
  return operation('delete', 'write', path, (to) => to.path(path).int(anyVersion), nothing);
}

/** With `watch` it tells of a creation, too, as the only one. */
export function exists(path: string, watch = false): Operation<Stat> {
  return operation('exists', 'read', path, (to) => to.path(path).flag(watch), readStat);
}

export function setData(path: string, data: Uint8Array, version = anyVersion): Operation<Stat> {
  return operation('setData', 'write', path, (to) => to.path(path).bytes(data).int(version), readStat);
}

export function getData(path: string, watch: boolean): Operation<{ data: Buffer; stat: Stat }> {
  return operation(
    'getData',
    'read',
    path,
    (to) => to.path(path).flag(watch),
    (from) => ({ data: from.bytes(), stat: readStat(from) }),
  );
}

export function getChildren(path: string, watch = false): Operation<string[]> {
  return operation(
    'getChildren2',
    'read',
    path,
    (to) => to.path(path).flag(watch),
    (from) => from.texts(),
  );
}

/** The server catches up with its leader before it answers what follows on this connection. */
export function sync(path: string): Operation<string> {
  return operation(
    'sync',
    'sync',
    path,
    (to) => to.path(path),
    (from) => from.path(),
  );
}

/** A part of a transaction: fails with NO_NODE unless the znode is there. */
export function checkExists(path: string): Operation<void> {
  return operation('check', 'write', path, (to) => to.path(path).int(anyVersion), nothing);
}

/** The answer to a transaction: all of its parts were done, or none. */
export type MultiAnswer<Results extends readonly unknown[]> =
  | { readonly is: 'done'; readonly results: Results }
  /**
   * `errors` by part: what was wrong with it; undefined for a part that was fine by itself, or was not tried. `error`:
   * the first of them.
   */
  | {
      readonly is: 'refused';
      readonly errors: readonly (ZooKeeperError | undefined)[];
      readonly error: ZooKeeperError;
    };

/**
 * All parts in one transaction through the quorum, or none of them.
 *
 * @example
 * multi(checkExists('/lock/next'), remove('/lock/own'));
 */
export function multi<Results extends readonly unknown[]>(
  ...parts: { readonly [Index in keyof Results]: Operation<Results[Index]> }
): Operation<MultiAnswer<Results>> {
  const all: readonly Operation<unknown>[] = parts;
  return operation(
    'multi',
    'write',
    all.at(-1)?.path ?? '/',
    (to) => {
      for (const part of all) {
        to.int(part.opcode).flag(false).int(-1);
        part.write(to);
      }
      return to.int(-1).flag(true).int(-1);
    },
    (from) => readMulti(from, all) as MultiAnswer<Results>,
  );
}

/** The same with paths of the servers, where the chroot does not count. */
export function absolute<T>(operation: Operation<T>): Operation<T> {
  return { ...operation, isAbsolute: true };
}

/**
 * A transaction through the quorum that changes nothing, and is never refused: the servers' root is always there, and
 * the chroot may not be.
 */
export function checkServers(): Operation<MultiAnswer<readonly unknown[]>> {
  return absolute(check(['/']));
}

/** A transaction through the quorum that changes nothing. Refused if one of the znodes is not there. */
export function check(paths: readonly string[]): Operation<MultiAnswer<readonly unknown[]>> {
  return multi<readonly unknown[]>(...paths.map(checkExists));
}

/** Forgets this session's watch on a path: the server would keep it for as long as the znode lives. */
export function removeWatch(path: string, kind: WatchKind): Operation<void> {
  return operation('removeWatches', 'read', path, (to) => to.path(path).int(watcherTypes[kind]), nothing);
}

/** Watches again, on a new connection; what happened since `zxid` is told at once. */
export function setWatches(zxid: bigint, kind: WatchKind, paths: readonly string[]): Operation<void> {
  const [data, children] = kind === 'data' ? [paths, []] : [[], paths];
  return operation(
    'setWatches',
    'read',
    paths[0] ?? '/',
    (to) => to.long(zxid).paths(data).paths([]).paths(children),
    nothing,
  );
}

/** The server ends the session, deletes its znodes, answers, and closes the connection. */
export function closeSession(): Operation<void> {
  return operation('closeSession', 'write', '/', nothing, nothing);
}

/** ZooKeeper's ZooDefs.OpCode. */
const opcodes = {
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
  setWatches: 101,
  closeSession: -11,
} as const;

/** ZooKeeper's CreateMode. */
const createModes = { persistent: 0, ephemeral: 1, ephemeralSequential: 3, container: 4 } as const;
/** ZooKeeper's WatcherType. */
const watcherTypes: Readonly<Record<WatchKind, number>> = { children: 1, data: 2 };
const anyVersion = -1;
const systemError = -1;
const noData = new Uint8Array(0);

function operation<T>(
  name: keyof typeof opcodes,
  kind: Operation<T>['kind'],
  path: string,
  write: (to: Writer) => unknown,
  read: (from: Reader) => T,
): Operation<T> {
  return { name, opcode: opcodes[name], kind, path, write, read };
}

function creation(
  name: 'create' | 'create2' | 'createContainer',
  path: string,
  data: Uint8Array,
  acl: readonly AclEntry[],
  mode: number,
): Omit<Operation<void>, 'read'> {
  return operation(
    name,
    'write',
    path,
    (to) => {
      to.path(path).bytes(data).int(acl.length);
      for (const entry of acl) to.int(entry.permissions).text(entry.scheme).text(entry.id);
      return to.int(mode);
    },
    nothing,
  );
}

function readStat(from: Reader): Stat {
  const czxid = from.long();
  const mzxid = from.long();
  const createdAtMs = Number(from.long());
  from.long(); // mtime
  const version = from.int();
  from.int(); // cversion
  from.int(); // aversion
  const ephemeralOwner = from.long();
  from.int(); // dataLength
  from.int(); // numChildren
  from.long(); // pzxid
  return { czxid, mzxid, createdAtMs, version, ephemeralOwner };
}

/** Where one part fails, all others are answered by 0 or RUNTIME_INCONSISTENCY: they were rolled back, or not tried. */
const notItsFault: ReadonlySet<number> = new Set([0, -2]);

function readMulti(from: Reader, parts: readonly Operation<unknown>[]): MultiAnswer<readonly unknown[]> {
  const results: unknown[] = [];
  const errors: (ZooKeeperError | undefined)[] = [];
  for (const part of parts) {
    const type = from.int();
    from.flag();
    from.int();
    if (type === -1) {
      const error = from.int();
      errors.push(notItsFault.has(error) ? undefined : new ZooKeeperError(error, part.name, part.path));
    } else if (type === part.opcode) {
      results.push(part.read(from));
      errors.push(undefined);
    } else throw new RangeError(`An answer to opcode ${type} came in a transaction where ${part.opcode} was due`);
  }
  if (results.length === parts.length) return { is: 'done', results };
  return {
    is: 'refused',
    errors,
    error:
      errors.find((error) => error !== undefined) ?? new ZooKeeperError(systemError, 'multi', parts[0]?.path ?? '/'),
  };
}

function nothing(): void {
  // It has no body.
}
