import type { LockClient } from '../client/lock-client.js';
import { exists, getChildren } from '../zookeeper/operations.js';
import { join, lockPath } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { whenNoNode } from '../zookeeper/zookeeper-error.js';
import { weightedChild } from '../weighted/weighted-name.js';
import { ask } from '../mutex/ask.js';
import { UsageError } from './usage-error.js';

/**
 * The znode of the participant that an operator means: `path` itself if a session owns it, else the holder of the lock
 * at `path`. Undefined if no participant holds it.
 *
 * @throws UsageError if several participants hold it
 */
export async function holderOf(client: LockClient, path: string): Promise<string | undefined> {
  const lock = lockPath(path);
  const stat = await answer(client, lock, (session) => session.find(exists(lock)));
  if (stat === undefined) return undefined;
  if (stat.ephemeralOwner !== 0n) return lock;
  const holders = await holdersOf(client, lock);
  if (holders.length > 1)
    throw new UsageError(
      `${holders.length} participants hold ${lock}: give the path of one of them\n${holders.join('\n')}`,
    );
  return holders[0];
}

async function holdersOf(client: LockClient, path: string): Promise<string[]> {
  const names = await childrenOf(client, path);
  if (names.includes('leases')) return leasesOf(client, path);
  if (names.some((name) => name.includes('__READ__') || name.includes('__WRIT__'))) return ofReadWrite(client, path);
  const { InterProcessMutex } = await import('../mutex/inter-process-mutex.js');
  const hasWeights = names.some((name) => weightedChild(name) !== undefined);
  const mutex = new InterProcessMutex(client, path, hasWeights ? { weights: {} } : { foreignNodes: 'wait' });
  return pathsOf([await mutex.holder()]);
}

/** The znodes of a semaphore do not tell how many leases there may be, so each of them may be held. */
async function leasesOf(client: LockClient, path: string): Promise<string[]> {
  const leases = join(path, 'leases');
  return (await childrenOf(client, leases)).map((name) => join(leases, name)).sort();
}

async function ofReadWrite(client: LockClient, path: string): Promise<string[]> {
  const { InterProcessReadWriteLock } = await import('../read-write/inter-process-read-write-lock.js');
  const { readLock, writeLock } = new InterProcessReadWriteLock(client, path, { foreignNodes: 'wait' });
  const writer = await writeLock.holder();
  if (writer) return [writer.path];
  // All readers before the first writer hold the lock together.
  const [readers, [waiting]] = await Promise.all([readLock.participants(), writeLock.participants()]);
  return pathsOf(readers.filter(({ sequence }) => waiting === undefined || sequence < waiting.sequence));
}

function pathsOf(participants: readonly ({ readonly path: string } | undefined)[]): string[] {
  return participants.flatMap((each) => (each === undefined ? [] : [each.path]));
}

function childrenOf(client: LockClient, path: string): Promise<string[]> {
  const list = async (session: Session): Promise<string[]> => (await session.request(getChildren(path))).value;
  return answer(client, path, list).catch(whenNoNode([]));
}

/** Asks a server that has caught up with its leader. */
function answer<T>(client: LockClient, path: string, question: (session: Session) => Promise<T>): Promise<T> {
  return ask(client, { call: 'holder', what: 'holder', path }, undefined, (deadline) =>
    client.ask((session) => {
      session.catchUp(path);
      return question(session);
    }, deadline),
  );
}
