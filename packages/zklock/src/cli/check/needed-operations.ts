import { randomUUID } from 'node:crypto';
import type { LockHost } from '../../../../../src/client/lock-host.js';
import { lockDeadline } from '../../../../../src/internals/lock-deadline.js';
import { commandErrorText } from '../own-words.js';
import {
  createContainer,
  createSequential,
  removeWatch,
  setWatches,
  type Operation,
} from '../../../../../src/zookeeper/wire/operations.js';
import { checkServers } from '../../../../../src/zookeeper/wire/transaction.js';
import { join } from '../../../../../src/zookeeper/wire/path.js';
import {
  isZooKeeperError,
  unknownRequestIn,
  ZooKeeperError,
} from '../../../../../src/zookeeper/wire/zookeeper-error.js';
import { fail, ok, warn, type Finding } from './finding.js';

/**
 * Asks for each operation that locks need, about a znode that does not exist, so nothing is changed. A server that does
 * not know one may end the connection. Then the client asks again, until it was so three times.
 */
export async function neededOperations(host: LockHost, base: string): Promise<NeededOperations> {
  const none = join(base, `zklock-check-${randomUUID()}`);
  const acl = host.options.aclFor(base);
  const tryOut = (operation: Operation<unknown>): Promise<unknown> => failureOf(host, operation);
  const helpful = [
    setWatches(host.sessions.current.connection.lastZxid, 'data', () => [none]),
    removeWatch(none, 'data'),
  ];
  const essential = [checkServers(), createSequential(join(none, 'of-'), Buffer.alloc(0), acl)];
  const missing: Finding[] = [];
  for (const each of helpful)
    missing.push(...missingOf(await tryOut(each), 'each reconnect or wait costs more: use ZooKeeper 3.5 or later'));
  const before = missing.length;
  for (const each of essential)
    missing.push(...missingOf(await tryOut(each), 'no lock can be taken: use ZooKeeper 3.5 or later'));
  const findings = missing.length > 0 ? missing : [ok('operations', 'the servers know those that locks need')];
  // Last, because a server before 3.5 closes the connection after its answer.
  const containers = containersFinding(await tryOut(createContainer(join(none, 'of'), acl)));
  return { findings: [...findings, containers], areEnough: missing.length === before };
}

export interface NeededOperations {
  readonly findings: readonly Finding[];
  /** False if no lock can be acquired, because the servers lack an operation. */
  readonly areEnough: boolean;
}

/** Resolves with undefined if the servers know the operation. A refusal is an answer, too. */
async function failureOf(host: LockHost, operation: Operation<unknown>): Promise<unknown> {
  const deadline = lockDeadline(host, operation.path, { what: 'holder', timeoutMs: host.sessions.timeoutMs });
  try {
    await host.sessions.ask(operation, deadline);
    return undefined;
  } catch (error) {
    return error instanceof ZooKeeperError && !error.is('UNIMPLEMENTED') ? undefined : error;
  } finally {
    deadline.dispose();
  }
}

function missingOf(failure: unknown, advice: string): Finding[] {
  if (failure === undefined) return [];
  if (isZooKeeperError(failure, 'UNIMPLEMENTED')) return [fail('operations', textOf(failure), advice)];
  return [fail('operations', commandErrorText(failure), 'look at the servers', 'unreachable')];
}

function containersFinding(failure: unknown): Finding {
  const subject = 'containers';
  const advice = 'the znodes of unused locks stay: delete them from time to time';
  if (failure === undefined) return ok(subject, 'supported: the znodes of unused locks are removed');
  // The first acquire of each client loses the connection three times.
  if (endsConnections(failure)) return fail(subject, textOf(failure), advice);
  return warn(subject, commandErrorText(failure), advice);
}

function endsConnections(failure: unknown): failure is ZooKeeperError {
  return isZooKeeperError(failure) && unknownRequestIn(failure)?.isSaid === false;
}

function textOf(failure: ZooKeeperError): string {
  return commandErrorText(unknownRequestIn(failure) ?? failure);
}
