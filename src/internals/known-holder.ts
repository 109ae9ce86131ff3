import { isIP } from 'node:net';
import { hostName, ownerIn, withoutMark } from './znode/znode-data.js';
import { keepNewest } from '../support/keep-newest.js';
import type { Holding } from '../zookeeper/session/holding.js';
import type { Session } from '../zookeeper/session/session.js';
import { sessionName } from '../zookeeper/wire/wire-session.js';
import { parentOf } from '../zookeeper/wire/path.js';
import type { Watched } from '../zookeeper/session/watches.js';
import type { KnownHolder } from '../client/report/timeout-text.js';

/** The owner of a znode, as a waiter read it in order to watch the znode. */
export function seenIn(path: string, { data, stat }: Watched['data']): SeenHolder {
  return { path, said: whoSays(data), sessionId: stat.ephemeralOwner, createdAtMs: stat.createdAtMs };
}

/** Remembers the holder of a lock. Called when a waiter that watches the znode knows that the znode is the first. */
export function rememberHolder(session: Session, seen: SeenHolder): void {
  keepNewest(session.companions.of(SeenHolders).byLock, parentOf(seen.path), seen, mostHolders);
}

/**
 * The holder of a lock as this session saw it. Undefined if no waiter of this session watches the holder's znode,
 * because then the holder may have left since.
 */
export function knownHolder(session: Session, lock: string): KnownHolder | undefined {
  const holder = session.companions.of(SeenHolders).byLock.get(lock);
  if (holder === undefined || !session.watches.has(holder.path)) return undefined;
  return {
    path: holder.path,
    sessionId: sessionName(holder.sessionId),
    ...holder.said,
    heldSince: undefined,
    queuedSince: dateOf(holder.createdAtMs),
  };
}

/** A holder of this process. */
export function ownHolder(session: Session, { path, heldSince }: Holding): KnownHolder {
  return {
    path,
    sessionId: sessionName(session.id),
    host: hostName(),
    pid: process.pid,
    heldSince: new Date(heldSince),
    queuedSince: undefined,
  };
}

export interface SeenHolder {
  readonly path: string;
  readonly said: { readonly host: string | undefined; readonly pid: number | undefined };
  readonly sessionId: bigint;
  readonly createdAtMs: number;
}

/** The holders that one session has seen. */
class SeenHolders {
  /**
   * One entry for each lock with a waiter, up to a limit, because a client may see more locks than it has memory for.
   */
  readonly byLock = new Map<string, SeenHolder>();
}

const mostHolders = 1_000;

/** A server may send any number. `toISOString` of an invalid date would throw, in the timer that ends a wait. */
function dateOf(ms: number): Date | undefined {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/**
 * Reads the owner from `data: 'owner'`. Without that, reads the address that this library and Curator write by default.
 */
function whoSays(data: Buffer): SeenHolder['said'] {
  const said = withoutMark(data);
  const owner = ownerIn(said, '');
  if (owner) return { host: owner.host, pid: owner.pid };
  // Other text is the application's own, also where it looks like the name of a host.
  const text = said.length <= longestAddress ? said.toString('latin1') : '';
  return { host: isIP(text) === 0 ? undefined : text, pid: undefined };
}

/** An address of IPv6 with the name of an interface. */
const longestAddress = 80;
