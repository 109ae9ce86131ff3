import { hostname } from 'node:os';
import { sessionName, type Holding, type Session } from '../zookeeper/session.js';
import type { Watched } from '../zookeeper/watches.js';
import { withoutMark } from './idle-mark.js';
import { ownerIn } from './lock-owner.js';
import type { KnownHolder } from './timeout-text.js';

/** Keeps in mind who holds a lock, when a waiter that is next has read the holder's znode to watch it. */
export function rememberHolder(session: Session, path: string, { data, stat }: Watched['data']): void {
  const { byLock } = session.companions.of(SeenHolders);
  const lock = path.slice(0, path.lastIndexOf('/'));
  // The newest is last.
  byLock.delete(lock);
  byLock.set(lock, { path, said: whoSays(data), sessionId: stat.ephemeralOwner, createdAtMs: stat.createdAtMs });
  const [oldest] = byLock.keys();
  if (byLock.size > mostHolders && oldest !== undefined) byLock.delete(oldest);
}

/** Who holds a lock, as long as a waiter of this session watches that znode: else it may have gone since. */
export function knownHolder(session: Session, lock: string): KnownHolder | undefined {
  const holder = session.companions.of(SeenHolders).byLock.get(lock);
  if (holder === undefined || !session.isWatching(holder.path)) return undefined;
  return {
    path: holder.path,
    sessionId: sessionName(holder.sessionId),
    ...holder.said,
    heldSince: undefined,
    queuedSince: dateOf(holder.createdAtMs),
  };
}

/** What this process holds itself. */
export function ownHolder(session: Session, { path, heldSince }: Holding): KnownHolder {
  return {
    path,
    sessionId: sessionName(session.id),
    host: hostname(),
    pid: process.pid,
    heldSince: new Date(heldSince),
    queuedSince: undefined,
  };
}

interface SeenHolder {
  readonly path: string;
  readonly said: { readonly host: string | undefined; readonly pid: number | undefined };
  readonly sessionId: bigint;
  readonly createdAtMs: number;
}

/** What one session has seen. */
class SeenHolders {
  /** One for each lock that is waited for; a client may see more locks than it has memory for. */
  readonly byLock = new Map<string, SeenHolder>();
}

const mostHolders = 1_000;

/** A server may send any number. The text of a date that there is not would throw, in the timer that ends a wait. */
function dateOf(ms: number): Date | undefined {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** By `data: 'owner'`, or by the address that is written there by default, by Curator too. */
function whoSays(data: Buffer): SeenHolder['said'] {
  const said = withoutMark(data);
  const owner = ownerIn(said, '');
  if (owner) return { host: owner.host, pid: owner.pid };
  const text = said.length <= longestHost ? said.toString('latin1') : '';
  return { host: /^[\w.:%-]+$/.test(text) ? text : undefined, pid: undefined };
}

/** A host's name has 253 characters at most. */
const longestHost = 253;
