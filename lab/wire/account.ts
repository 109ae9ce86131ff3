import { createHash } from 'node:crypto';
import { LockClient, type AclEntry, type Credential, type LockClientOptions } from '../../src/index.ts';
import {
  absolute,
  createPersistent,
  getChildren,
  getData,
  openAcl,
  remove,
  sync,
  type Operation,
} from '../../src/zookeeper/wire/operations.ts';

/**
 * A ZooKeeper client with its own credentials or with none: a lock client, and the requests that it may try on any
 * znode.
 */
export interface Account extends AsyncDisposable {
  readonly client: LockClient;
  /**
   * All methods take full paths of the servers, whatever the client's chroot is, and reject with a ZooKeeperError if
   * the server refuses.
   */
  children(path: string): Promise<string[]>;
  read(path: string): Promise<string>;
  create(path: string, acl?: readonly AclEntry[]): Promise<void>;
  write(path: string, data: string): Promise<void>;
  remove(path: string): Promise<void>;
  acl(path: string): Promise<AclEntry[]>;
  setAcl(path: string, acl: readonly AclEntry[]): Promise<void>;
}

export async function account(connectString: string, options: LockClientOptions = {}): Promise<Account> {
  const client = await LockClient.connect(connectString, { sessionTimeoutMs: 10_000, ...options });
  const ask = <T>(operation: Operation<T>): Promise<T> =>
    client.session.request(absolute(operation)).then(({ value }) => value);
  // Two accounts may be connected to two members of an ensemble, one of which lags: it catches up first.
  const askLatest = <T>(operation: Operation<T>): Promise<T> => ask(sync(operation.path)).then(() => ask(operation));
  return {
    client,
    children: (path) => askLatest(getChildren(path)),
    read: (path) => askLatest(getData(path, false)).then(({ data }) => data.toString()),
    create: (path, acl = openAcl) => ask(createPersistent(path, acl)).then(() => undefined),
    write: (path, data) => ask(setData(path, data)),
    remove: (path) => ask(remove(path)),
    acl: (path) => askLatest(getAcl(path)),
    setAcl: (path, acl) => ask(setAcl(path, acl)),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

export function digest(credentials: string): Credential {
  return { scheme: 'digest', credentials };
}

/** The id with which a server stores a digest ACL: `user:` and the hash of `user:password`. */
export function digestId(credentials: string): string {
  const hash = createHash('sha1').update(credentials).digest('base64');
  return `${credentials.slice(0, credentials.indexOf(':'))}:${hash}`;
}

export const permission = { read: 1, write: 2, create: 4, delete: 8, admin: 16, all: 31 } as const;

/** Allows everything to the creator of the znode, by its credentials, and nothing to others. */
export const creatorOnly: readonly AclEntry[] = [{ permissions: permission.all, scheme: 'auth', id: '' }];

export function anyone(...permissions: number[]): AclEntry {
  return { permissions: permissions.reduce((sum, one) => sum | one, 0), scheme: 'world', id: 'anyone' };
}

function setData(path: string, data: string): Operation<void> {
  return {
    name: 'setData',
    opcode: 5,
    kind: 'write',
    path,
    write: (to) => void to.text(path).bytes(Buffer.from(data)).int(-1),
    read: () => undefined,
  };
}

function getAcl(path: string): Operation<AclEntry[]> {
  return {
    name: 'getACL',
    opcode: 6,
    kind: 'read',
    path,
    write: (to) => void to.text(path),
    read: (from) =>
      Array.from({ length: from.int() }, () => ({ permissions: from.int(), scheme: from.text(), id: from.text() })),
  };
}

function setAcl(path: string, acl: readonly AclEntry[]): Operation<void> {
  return {
    name: 'setACL',
    opcode: 7,
    kind: 'write',
    path,
    write(to) {
      to.text(path).int(acl.length);
      for (const entry of acl) to.int(entry.permissions).text(entry.scheme).text(entry.id);
      to.int(-1);
    },
    read: () => undefined,
  };
}
