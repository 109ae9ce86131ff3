import type { ClientReport } from '../client/client-report.js';
import { uuidOf } from '../driver/names.js';
import type { Clock } from '../support/clock.js';
import { absolute, checkServers, exists, getChildren, getEphemerals, remove } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, whenNoNode } from '../zookeeper/zookeeper-error.js';
import { sessionPause } from './session-pause.js';

/**
 * Deletes the znode that a create made under another name than the one that was asked for, or whose name is not the one
 * in the answer. A network device or a broken memory that changes one bit is enough, and the znode would block the lock
 * until the session ends. Resolves when it is gone, or when the session has ended. Never rejects.
 */
export async function removeStrays(session: Session, lost: LostZnode): Promise<void> {
  const { clock, report } = lost.tools;
  for (let tries = 0; await session.whenConnected(); tries += 1) {
    try {
      for (const path of await straysOf(session, lost, lost.isElsewhere && session.isResumed && tries < triesOfAll)) {
        report.warn(
          `${path} was created by a request that asked for ${report.onServers(lost.asked)}; deleting it`,
          undefined,
        );
        await session.request(absolute(remove(path))).catch(whenNoNode(undefined));
      }
      return;
    } catch (error) {
      if (session.isEnded) return;
      if (isZooKeeperError(error, 'CONNECTION_LOSS')) continue;
      report.warn(
        `A znode that ${report.onServers(lost.asked)} may have become could not be deleted; trying again`,
        error,
      );
      await sessionPause(session, clock, tries);
    }
  }
}

/** A create whose znode this client does not know. */
export interface LostZnode {
  readonly parent: string;
  /** The path that was asked for, without the number. It ends in the uuid and the lock's name. */
  readonly asked: string;
  readonly uuid: string;
  /** True if the answer contradicts the request: the znode may stand anywhere. False if it stands under its parent. */
  readonly isElsewhere: boolean;
  /** True if the znode belongs to another create of this session. */
  readonly isOfOther: (path: string) => boolean;
  readonly tools: {
    readonly report: Pick<ClientReport, 'warn' | 'onServers'>;
    readonly clock: Pick<Clock, 'after'>;
  };
}

/** The servers' paths of the znodes, read behind an answered quorum write. */
async function straysOf(session: Session, lost: LostZnode, asksAll: boolean): Promise<string[]> {
  const { asked, uuid, tools } = lost;
  const [parent, prefix] = [tools.report.onServers(lost.parent), tools.report.onServers(asked)];
  const { wasPostponed } = await session.request(checkServers());
  if (wasPostponed) await session.request(checkServers());
  const names = (await session.find(absolute(getChildren(parent)))) ?? [];
  const inQueue = names.map((name) => join(parent, name)).filter((path) => resembles(path, prefix));
  const strays = new Set<string>();
  for (const path of inQueue) {
    const stat = await session.find(absolute(exists(path)));
    if (stat?.ephemeralOwner === session.id || (stat && path.includes(uuid))) strays.add(path);
  }
  const chrootLength = prefix.length - asked.length;
  // Some servers do not know the request. Then only the lock's own znode is searched.
  const owned = asksAll ? await session.request(getEphemerals()).then(({ value }) => value, unlessLost) : [];
  for (const path of owned) {
    const isInQueue = isProtectedIn(parent, path);
    if ((isInQueue && !lost.isOfOther(path.slice(chrootLength))) || resembles(path, prefix)) strays.add(path);
  }
  return [...strays];
}

/**
 * True if the path is the one that was asked for, up to a few characters in one place, and perhaps with a number.
 *
 * @example
 * resembles('/lock/_c_6f1d2f7e-…-lock-0000000004', '/lock/_c_6f1c2f7e-…-lock-'); // true
 */
export function resembles(path: string, asked: string): boolean {
  if (!number.test(path.slice(asked.length))) return false;
  let from = 0;
  while (from < asked.length && path[from] === asked[from]) from += 1;
  let to = asked.length;
  while (to > from && path[to - 1] === asked[to - 1]) to -= 1;
  return to - from <= mostChanged;
}

function isProtectedIn(parent: string, path: string): boolean {
  const start = join(parent, '');
  return path.startsWith(start) && uuidOf(path.slice(start.length)) !== undefined;
}

const number = /^(?:-?\d{9,10})?$/;
const mostChanged = 4;
/** A server that ends the connection at the request for all of a session's znodes is not asked a third time. */
const triesOfAll = 2;

function unlessLost(error: unknown): string[] {
  if (isZooKeeperError(error, 'CONNECTION_LOSS')) throw error;
  return [];
}
