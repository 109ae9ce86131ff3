import { LockClient } from '../../src/client/lock-client.ts';
import { createPersistent, exists, getChildren, getData, openAcl, remove, setData, type AclEntry } from '../../src/client/operations.ts';
import { Session } from '../../src/client/session.ts';
import { systemClock } from '../../src/client/clock.ts';
import { parseConnectString } from '../../src/client/connect-string.ts';
import { isZooKeeperError } from '../../src/client/zookeeper-error.ts';

/** Somebody else on the same servers, who can do to a lock what any ZooKeeper client can. */
export interface Stranger extends AsyncDisposable {
  children(path: string): Promise<string[]>;
  /** The children that a session created, with that session's id. */
  ephemerals(path: string): Promise<{ readonly name: string; readonly owner: bigint }[]>;
  exists(path: string): Promise<boolean>;
  create(path: string, acl?: readonly AclEntry[]): Promise<void>;
  /** Changes nothing but the version: those who watch it are told. */
  touch(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** What is in a znode, as text. */
  read(path: string): Promise<string>;
  write(path: string, data: string): Promise<void>;
  /** Ends a client's session on the server, from another connection, as an administrator or an expiry would. */
  endSession(client: LockClient): Promise<void>;
}

export async function stranger(connectString: string): Promise<Stranger> {
  const client = await LockClient.connect(connectString, { sessionTimeoutMs: 20_000 });
  const ask = client.session;
  const children = (path: string): Promise<string[]> => ask.request(getChildren(path)).then(({ value }) => value, orElse<string[]>([]));
  const ownerOf = (path: string): Promise<bigint> => ask.request(exists(path)).then(({ value }) => value.ephemeralOwner, orElse(0n));
  return {
    children,
    ephemerals: async (path) => {
      const all = await Promise.all((await children(path)).map(async (name) => ({ name, owner: await ownerOf(`${path}/${name}`) })));
      return all.filter(({ owner }) => owner !== 0n);
    },
    exists: (path) => ask.request(exists(path)).then(() => true, orElse(false)),
    create: (path, acl = openAcl) => ask.request(createPersistent(path, acl)).then(() => undefined),
    touch: (path) => ask.request(setData(path, new Uint8Array(0))).then(() => undefined),
    remove: (path) => ask.request(remove(path)).then(() => undefined),
    read: (path) => ask.request(getData(path, false)).then(({ value }) => value.data.toString()),
    write: (path, data) => ask.request(setData(path, Buffer.from(data))).then(() => undefined),
    endSession: (victim) => endSession(connectString, victim),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

async function endSession(connectString: string, victim: LockClient): Promise<void> {
  const { hosts } = parseConnectString(connectString);
  const nobody = (): undefined => undefined;
  const twin = new Session(
    { hosts, auth: [], tickTimeMs: undefined, clock: systemClock, random: Math.random, sessionTimeoutMs: victim.sessionTimeoutMs, connectBy: systemClock.now() + 5_000, resume: victim.session.identity },
    { connected: nobody, suspended: nobody, overdue: nobody, unanswered: nobody, ended: nobody, settled: nobody, warn: nobody },
  );
  await twin.close(5_000);
}

function orElse<T>(value: T): (error: unknown) => T {
  return (error) => {
    if (isZooKeeperError(error, 'NO_NODE')) return value;
    throw error;
  };
}
