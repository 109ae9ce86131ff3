import type { BoardEvent } from './board-event.js';
import type { BoardState, LockBoard } from './lock-board.js';
import type { BoardLockKind, LockView } from './lock-view.js';
import type { ParticipantZnode } from './participant-znode.js';

/** A lock in JSON, as `zklock ls --json` and the console's `GET /api/locks` show it. */
export interface LockJson {
  readonly path: string;
  readonly kind: BoardLockKind;
  /**
   * `idle`: held by a sticky lock that no caller uses now. Another client that asks gets it at once. `unknown`: no
   * participant, but other znodes, which may be a lock of a kind that is not known here. `unreadable`: the servers
   * refuse to show a participant. The others, and the order, are those that are known.
   */
  readonly state: 'free' | 'held' | 'idle' | 'unknown' | 'unreadable';
  /** The time since which a participant is `unreadable`, by this machine's clock. */
  readonly unreadableSince: string | null;
  readonly holders: readonly ParticipantJson[];
  /** The next one first. Cut at the limit that the caller has set. */
  readonly waiters: readonly ParticipantJson[];
  readonly holderCount: number;
  readonly waiterCount: number;
  /** The number of other children of its znode, which are no participants of this kind of lock. */
  readonly otherCount: number;
}

/** A holder or a waiter in JSON. */
export interface ParticipantJson {
  readonly path: string;
  /** 0 for a holder, 1 for the next waiter. */
  readonly position: number;
  readonly sequence: number;
  readonly role: 'read' | 'write' | null;
  readonly weight: number | null;
  /** Null for a znode that no session owns. */
  readonly sessionId: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  /** Null if it was never read, or a request to release had replaced it before the first read. */
  readonly data: string | null;
  /** Null as `data` is. */
  readonly dataBytes: number | null;
  /** The time at which it joined the queue, by the servers' clock. Null if the znode could never be read. */
  readonly queuedAt: string | null;
  /**
   * The time since which the servers refuse to show the znode, by this machine's clock. All of it that was not read
   * before is null.
   */
  readonly unreadableSince: string | null;
  /** The time at which it was seen to get the lock, by this machine's clock. Null if the grant was not seen. */
  readonly heldSince: string | null;
  /** In decimal; null for a waiter. */
  readonly fencingToken: string | null;
  /** Null if it is not known. */
  readonly isIdle: boolean | null;
  /** `revoke`: asked to release. `force`: told that its znode will be deleted. */
  readonly asked: 'revoke' | 'force' | null;
}

/** The state of a board in JSON. `incomplete`: some znodes cannot be read. */
export interface StateJson {
  readonly is: BoardState['is'] | 'incomplete';
  /** The time since which the board is cut off from the servers, or incomplete. */
  readonly since: string | null;
}

/** A znode that cannot be read, in JSON. */
export interface UnreadableJson {
  readonly path: string;
  /** The time of the first refusal, by this machine's clock. */
  readonly since: string;
}

/** An event in JSON. */
export interface EventJson {
  readonly at: string;
  readonly path: string;
  readonly type: BoardEvent['type'];
  readonly from: ActorJson | null;
  readonly to: ActorJson | null;
  readonly duringOutage: boolean;
}

/** The participant of an event in JSON. */
export interface ActorJson {
  readonly path: string;
  readonly sessionId: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly data: string | null;
  readonly unreadableSince: string | null;
}

/** @param most how many holders and how many waiters to show; their numbers count all */
export function lockJson(view: LockView, most = Infinity): LockJson {
  const { path, kind, holders, waiters, others } = view;
  return {
    path,
    kind,
    state: stateOf(view),
    unreadableSince: unlessNever(view.unreadableSince),
    holders: holders.slice(0, most).map((znode) => participantJson(znode, 0, view)),
    waiters: waiters.slice(0, most).map((znode, index) => participantJson(znode, index + 1, view)),
    holderCount: holders.length,
    waiterCount: waiters.length,
    otherCount: others,
  };
}

export function eventJson({ atMs, path, type, from, to, duringOutage }: BoardEvent): EventJson {
  return { at: isoOf(atMs), path, type, from: actorJson(from), to: actorJson(to), duringOutage };
}

/** A board is live only if every question has had an answer. */
export function stateJson({ state, unreadable }: Pick<LockBoard, 'state' | 'unreadable'>): StateJson {
  if (state.is === 'live' && unreadable.size > 0) return { is: 'incomplete', since: isoOf(oldestMs(unreadable)) };
  return { is: state.is, since: state.is === 'cut-off' ? isoOf(state.sinceMs) : null };
}

/** The time since which not all is shown, in milliseconds since 1970. */
export function oldestMs(unreadable: LockBoard['unreadable']): number {
  let oldest = Infinity;
  for (const { sinceMs } of unreadable.values()) oldest = Math.min(oldest, sinceMs);
  return oldest;
}

/** Sorted by path. */
export function unreadableJson({ unreadable }: Pick<LockBoard, 'unreadable'>): UnreadableJson[] {
  const all = Array.from(unreadable, ([path, { sinceMs }]) => ({ path, since: isoOf(sinceMs) }));
  return all.sort((a, b) => (a.path < b.path ? -1 : 1));
}

function stateOf({ kind, holders, others, unreadableSince }: LockView): LockJson['state'] {
  if (unreadableSince !== undefined) return 'unreadable';
  // The permits of a semaphore are held beside any other znodes.
  if (holders.length === 0) return others > 0 && kind !== 'semaphore' ? 'unknown' : 'free';
  return holders.every(({ content }) => content?.isIdle) ? 'idle' : 'held';
}

function participantJson(znode: ParticipantZnode, position: number, view: LockView): ParticipantJson {
  const { content, name, heldSince } = znode;
  const token = view.claimToken ?? content?.czxid;
  return {
    path: znode.path,
    position,
    sequence: name.sequence,
    role: roleOf(znode, view.kind),
    weight: name.weight ?? null,
    sessionId: content?.sessionId ?? null,
    host: content?.host ?? null,
    pid: content?.pid ?? null,
    data: content?.data ?? null,
    dataBytes: content?.dataBytes ?? null,
    queuedAt: unlessNever(content?.createdAtMs),
    unreadableSince: unlessNever(znode.unreadableSince),
    heldSince: position > 0 ? null : unlessNever(heldSince),
    fencingToken: position > 0 || token === undefined ? null : String(token),
    isIdle: content?.isIdle ?? null,
    asked: content?.mark ?? null,
  };
}

/** Kazoo's write lock is named as its plain lock is. */
function roleOf({ name }: ParticipantZnode, kind: BoardLockKind): ParticipantJson['role'] {
  if (kind !== 'read-write') return null;
  return name.is === 'read' ? 'read' : 'write';
}

function actorJson(znode: ParticipantZnode | undefined): ActorJson | null {
  if (!znode) return null;
  const { sessionId, host, pid, data } = znode.content ?? {};
  const unreadableSince = unlessNever(znode.unreadableSince);
  return {
    path: znode.path,
    sessionId: sessionId ?? null,
    host: host ?? null,
    pid: pid ?? null,
    data: data ?? null,
    unreadableSince,
  };
}

function unlessNever(ms: number | undefined): string | null {
  return ms === undefined ? null : isoOf(ms);
}

/** A server may send any number. */
function isoOf(ms: number): string {
  const date = new Date(ms);
  return Number.isNaN(date.getTime()) ? new Date(0).toISOString() : date.toISOString();
}
