import type { Reader, Writer } from './wire.js';

/** One request: how it is written, how its answer is read, and what the answer proves (`write`: it went through the quorum). */
export interface Operation<T> {
  readonly name: string;
  readonly opcode: number;
  readonly kind: 'read' | 'sync' | 'write';
  readonly path: string;
  write(to: Writer): void;
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
 * const acl: AclEntry[] = [{ permissions: 31, scheme: 'auth', id: '' }]; // all rights, for whoever the client has authenticated as
 */
export interface AclEntry {
  /** The sum of 1 read, 2 write, 4 create, 8 delete and 16 admin: an integer from 1 to 31. */
  readonly permissions: number;
  /** `world`, `auth`, `digest`, `ip`, or another that the servers know. */
  readonly scheme: string;
  /** Who, as the scheme writes it: `anyone` for `world`, nothing for `auth`, `user:base64(sha1(user:password))` for `digest`. */
  readonly id: string;
}

export const openAcl: readonly AclEntry[] = [{ permissions: 31, scheme: 'world', id: 'anyone' }];

const ephemeral = 1;
const ephemeralSequential = 3;
const container = 4;
const persistent = 0;
/** What a watch is about: a znode's data and its end, or which children it has. */
export type WatchKind = 'data' | 'children';

const watcherTypes: Readonly<Record<WatchKind, number>> = { children: 1, data: 2 };

/** An ephemeral-sequential znode, answered with the name that the server gave it and its Stat. */
export function createSequential(path: string, data: Uint8Array, acl: readonly AclEntry[]): Operation<{ path: string; stat: Stat }> {
  return {
    ...creation('create2', 15, path, data, acl, ephemeralSequential),
    read: (from) => ({ path: from.text(), stat: readStat(from) }),
  };
}

/**
 * In one transaction: an ephemeral znode under exactly this name, if another znode is there. Answers the errors of both, in this order, when nothing was
 * done. A transaction's creates are answered without their Stat (3.8.0), so its zxid has to do: it is their czxid, or a later one.
 */
export function createBeside(other: string, path: string, data: Uint8Array, acl: readonly AclEntry[]): Operation<'created' | { readonly errors: readonly number[] }> {
  const create = creation('create', 1, path, data, acl, ephemeral);
  return {
    name: 'multi',
    opcode: 14,
    kind: 'write',
    path,
    write(to) {
      to.int(13).flag(false).int(-1).text(other).int(-1);
      create.write(to.int(1).flag(false).int(-1));
      to.int(-1).flag(true).int(-1);
    },
    read(from) {
      const errors = readMulti(from, (type) => type === 1 && from.text());
      return errors.every((error) => error === 0) ? 'created' : { errors };
    },
  };
}

/** A parent that the server removes once it is empty again. */
export function createContainer(path: string, acl: readonly AclEntry[]): Operation<string> {
  return { ...creation('createContainer', 19, path, noData, acl, container), read: (from) => from.text() };
}

/** A parent where the server knows no containers (CURATOR-565). */
export function createPersistent(path: string, acl: readonly AclEntry[]): Operation<string> {
  return { ...creation('create', 1, path, noData, acl, persistent), read: (from) => from.text() };
}

export function remove(path: string): Operation<void> {
  return { name: 'delete', opcode: 2, kind: 'write', path, write: (to) => void to.text(path).int(-1), read: nothing };
}

/** With `watch` it tells of a creation, too, as the only one. */
export function exists(path: string, watch = false): Operation<Stat> {
  return { name: 'exists', opcode: 3, kind: 'read', path, write: (to) => void to.text(path).flag(watch), read: readStat };
}

export function setData(path: string, data: Uint8Array, version = -1): Operation<Stat> {
  return { name: 'setData', opcode: 5, kind: 'write', path, write: (to) => void to.text(path).bytes(data).int(version), read: readStat };
}

export function getData(path: string, watch: boolean): Operation<{ data: Buffer; stat: Stat }> {
  return {
    name: 'getData',
    opcode: 4,
    kind: 'read',
    path,
    write: (to) => void to.text(path).flag(watch),
    read: (from) => ({ data: from.bytes(), stat: readStat(from) }),
  };
}

export function getChildren(path: string, watch = false): Operation<string[]> {
  return {
    name: 'getChildren2',
    opcode: 12,
    kind: 'read',
    path,
    write: (to) => void to.text(path).flag(watch),
    read: (from) => from.texts(),
  };
}

/** The server catches up with its leader before it answers what follows on this connection. */
export function sync(path: string): Operation<string> {
  return { name: 'sync', opcode: 9, kind: 'sync', path, write: (to) => void to.text(path), read: (from) => from.text() };
}

/** A transaction through the quorum that changes nothing. Answers each path's error number, 0 for one that exists. */
export function check(paths: readonly string[]): Operation<number[]> {
  return {
    name: 'multi',
    opcode: 14,
    kind: 'write',
    path: paths[0] ?? '/',
    write(to) {
      for (const path of paths) to.int(13).flag(false).int(-1).text(path).int(-1);
      to.int(-1).flag(true).int(-1);
    },
    read: (from) => readMulti(from),
  };
}

/** Deletes a znode, if the one that comes after it is there; answers both errors, the first one -101 if it is not. */
export function handOver(own: string, next: string): Operation<number[]> {
  return {
    name: 'multi',
    opcode: 14,
    kind: 'write',
    path: own,
    write: (to) => void to.int(13).flag(false).int(-1).text(next).int(-1).int(2).flag(false).int(-1).text(own).int(-1).int(-1).flag(true).int(-1),
    read: (from) => readMulti(from),
  };
}

/**
 * In one transaction: writes a znode's data, if nobody has since this version, and if another znode is there. Answers the Stat, or the errors of both, the other's
 * first, when nothing was done.
 */
export function writeIfThere(other: string, path: string, data: Uint8Array, version: number): Operation<Stat | { readonly errors: readonly number[] }> {
  return {
    name: 'multi',
    opcode: 14,
    kind: 'write',
    path,
    write: (to) => void to.int(13).flag(false).int(-1).text(other).int(-1).int(5).flag(false).int(-1).text(path).bytes(data).int(version).int(-1).flag(true).int(-1),
    read(from) {
      let stat: Stat | undefined;
      const errors = readMulti(from, (type) => {
        if (type !== 5) return;
        stat = readStat(from);
        // Its last three fields, which locks do not need.
        from.int();
        from.int();
        from.long();
      });
      return stat ?? { errors };
    },
  };
}

/** Forgets this session's watch on a path: the server would keep it for as long as the znode lives. */
export function removeWatch(path: string, kind: WatchKind): Operation<void> {
  return { name: 'removeWatches', opcode: 18, kind: 'read', path, write: (to) => void to.text(path).int(watcherTypes[kind]), read: nothing };
}

/** Watches again, on a new connection; what happened since `zxid` is told at once. */
export function setWatches(zxid: bigint, kind: WatchKind, paths: readonly string[]): Operation<void> {
  const [data, children] = kind === 'data' ? [paths, []] : [[], paths];
  return {
    name: 'setWatches',
    opcode: 101,
    kind: 'read',
    path: paths[0] ?? '/',
    write: (to) => void to.long(zxid).texts(data).texts([]).texts(children),
    read: nothing,
  };
}

/** The server ends the session, deletes its znodes, answers, and closes the connection. */
export function closeSession(): Operation<void> {
  return { name: 'closeSession', opcode: -11, kind: 'write', path: '/', write: nothing, read: nothing };
}

const noData = new Uint8Array(0);

function creation(name: string, opcode: number, path: string, data: Uint8Array, acl: readonly AclEntry[], flags: number) {
  return {
    name,
    opcode,
    kind: 'write' as const,
    path,
    write(to: Writer): void {
      to.text(path).bytes(data).int(acl.length);
      for (const entry of acl) to.int(entry.permissions).text(entry.scheme).text(entry.id);
      to.int(flags);
    },
  };
}

function readStat(from: Reader): Stat {
  const czxid = from.long();
  const mzxid = from.long();
  const createdAtMs = Number(from.long());
  from.long();
  const version = from.int();
  from.int();
  from.int();
  return { czxid, mzxid, createdAtMs, version, ephemeralOwner: from.long() };
}

function readMulti(from: Reader, skipResult: (type: number) => unknown = nothing): number[] {
  const results: number[] = [];
  for (;;) {
    const type = from.int();
    const done = from.flag();
    const error = from.int();
    if (done) return results;
    results.push(type === -1 ? from.int() : error > 0 ? 0 : error);
    skipResult(type);
  }
}

function nothing(): void {
  // The answer has no body.
}
