import type { LockHost } from '../../client/lock-host.js';
import { uuidOf } from '../../driver/names.js';
import { inNoContext } from '../../support/no-context.js';
import { absolute, exists, getChildren, getEphemerals, remove } from '../../zookeeper/wire/operations.js';
import { checkServers } from '../../zookeeper/wire/transaction.js';
import { join } from '../../zookeeper/wire/path.js';
import type { Session } from '../../zookeeper/session/session.js';
import { isZooKeeperError, whenNoNode } from '../../zookeeper/wire/zookeeper-error.js';
import { sessionPause } from './node-deletion.js';
import { reached } from '../../support/reached.js';

/**
 * Deletes, in the background, the znode that a create made under another name than the one that was asked for, or whose
 * name is not the one in the answer. A network device or a broken memory that changes one bit is enough, and the znode
 * would block the lock until the session ends.
 */
export function removeStray(session: Session, lost: LostZnode): void {
  session.companions.of(StraySearches).add(lost);
}

/** A create whose znode this client does not know. */
export interface LostZnode {
  readonly parent: string;
  /** The path that was asked for, without the number. It ends in the uuid and the lock's name. */
  readonly asked: string;
  readonly uuid: string;
  /**
   * Where the znode may stand. `same-uuid`: under its parent, with its uuid. `alike`: under its parent, with another name.
   * `anywhere`: the answer contradicts the request.
   */
  readonly stands: 'same-uuid' | 'alike' | 'anywhere';
  /** True if the znode belongs to another create of this session. */
  readonly isOfOther: (path: string) => boolean;
  readonly host: LockHost;
}

/** All were lost under one parent. */
type Lost = readonly [LostZnode, ...LostZnode[]];

/** The searches of one session: one at a time under each parent, for all znodes that were lost there until it lists. */
class StraySearches {
  readonly #session: Session;
  readonly #lost = new Map<string, [LostZnode, ...LostZnode[]]>();
  readonly #searched = new Set<string>();

  constructor(session: Session) {
    this.#session = session;
  }

  add(lost: LostZnode): void {
    const { parent } = lost;
    const others = this.#lost.get(parent);
    if (others) others.push(lost);
    else this.#lost.set(parent, [lost]);
    if (this.#searched.has(parent)) return;
    this.#searched.add(parent);
    inNoContext(() => void this.#searchAll(parent));
  }

  async #searchAll(parent: string): Promise<void> {
    for (let lost = this.#lost.get(parent); lost; lost = this.#lost.get(parent)) {
      const close = (): void => {
        if (this.#lost.get(parent) === lost) this.#lost.delete(parent);
      };
      reached('a lost znode searched for');
      await search(this.#session, lost, close);
      close();
    }
    this.#searched.delete(parent);
  }
}

/**
 * Resolves when none of the znodes exists, when they cannot be looked for, or when the session has ended.
 *
 * @param close no other znode may be added to `lost` afterwards
 */
async function search(session: Session, lost: Lost, close: () => void): Promise<void> {
  const [{ asked, host }] = lost;
  const { clock, report } = host;
  let found: readonly string[] | undefined;
  for (let tries = 0; await session.whenConnected(); tries += 1) {
    try {
      const { strays, areAll } = await straysOf(session, lost, { mayAskAll: tries < triesOfAll, close });
      found = strays;
      for (const path of found) {
        report.warn(
          `${path} was created by a request that asked for ${report.onServers(asked)}; deleting it`,
          undefined,
        );
        await session.request(absolute(remove(path))).catch(whenNoNode(undefined));
      }
      if (!areAll) {
        report.warn(
          `What a create of ${report.onServers(asked)} made may be anywhere, and the servers do not list a session's znodes; ending the session when it holds nothing`,
          undefined,
        );
        session.giveUpWhenFree();
      }
      return;
    } catch (error) {
      if (session.isEnded) return;
      if (isZooKeeperError(error, 'CONNECTION_LOSS')) continue;
      if (found === undefined) {
        report.warn(`What a create of ${report.onServers(asked)} made cannot be looked for`, error);
        return;
      }
      if (tries === 0) report.warn(`${found.join(', ')} cannot be deleted; trying again`, error);
      await sessionPause(session, clock, tries);
    }
  }
}

/**
 * The servers' paths of the znodes, read behind an answered quorum write. `areAll` is false if one of them was not found
 * and may stand anywhere.
 */
async function straysOf(session: Session, lost: Lost, { mayAskAll, close }: Search): Promise<Found> {
  const [{ parent: below, host }] = lost;
  const parent = host.report.onServers(below);
  const { wasPostponed } = await session.request(checkServers());
  if (wasPostponed) await session.request(checkServers());
  // The answers to all requests that were sent before the write have arrived, so one list serves them all.
  close();
  const names = (await session.find(absolute(getChildren(parent)))) ?? [];
  const uuids = new Set(lost.map(({ uuid }) => uuid));
  const strays = new Set(names.filter((name) => isOneOf(uuids, uuidOf(name))).map((name) => join(parent, name)));
  const prefixOf = ({ asked }: LostZnode): string => host.report.onServers(asked);
  for (const each of lost.filter(({ stands }) => stands !== 'same-uuid'))
    for (const path of names.map((name) => join(parent, name)).filter((path) => resembles(path, prefixOf(each)))) {
      const stat = await session.find(absolute(exists(path)));
      if (stat?.ephemeralOwner === session.id) strays.add(path);
    }
  const elsewhere = lost.filter(({ stands }) => stands === 'anywhere');
  // Servers before 3.6 do not know the request.
  const asksAll = elsewhere.length > 0 && mayAskAll && session.isResumed;
  const owned = asksAll ? await session.request(getEphemerals()).then(({ value }) => value, unlessLost) : undefined;
  if (owned === undefined) {
    const isFound = (each: LostZnode): boolean =>
      [...strays].some((path) => uuidIn(parent, path) === each.uuid || resembles(path, prefixOf(each)));
    return { strays: [...strays], areAll: elsewhere.every(isFound) };
  }
  for (const path of owned)
    for (const each of elsewhere) {
      const chrootLength = prefixOf(each).length - each.asked.length;
      const isOthers = uuidIn(parent, path) === undefined || each.isOfOther(path.slice(chrootLength));
      if (!isOthers || resembles(path, prefixOf(each))) strays.add(path);
    }
  return { strays: [...strays], areAll: true };
}

interface Search {
  readonly mayAskAll: boolean;
  readonly close: () => void;
}

interface Found {
  readonly strays: readonly string[];
  readonly areAll: boolean;
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

function isOneOf(uuids: ReadonlySet<string>, uuid: string | undefined): boolean {
  return uuid !== undefined && uuids.has(uuid);
}

/** The uuid in the name of a child of `parent`. */
function uuidIn(parent: string, path: string): string | undefined {
  const start = join(parent, '');
  return path.startsWith(start) ? uuidOf(path.slice(start.length)) : undefined;
}

const number = /^(?:-?\d{9,10})?$/;
const mostChanged = 4;
/** A server that ends the connection at the request for all of a session's znodes is not asked a third time. */
const triesOfAll = 2;

function unlessLost(error: unknown): undefined {
  if (isZooKeeperError(error, 'CONNECTION_LOSS')) throw error;
}
