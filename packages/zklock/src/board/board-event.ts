import type { LockView } from './lock-view.js';
import type { ParticipantZnode } from './participant-znode.js';

/** Something that happened to a lock, for the timeline. */
export interface BoardEvent {
  /** By the clock of this process, in milliseconds since 1970. */
  readonly atMs: number;
  readonly path: string;
  /**
   * - `granted`: the lock was free.
   * - `handed-over`: one holder left, and the next one holds the lock.
   * - `released`: a holder's znode was deleted, and nobody took its place. The holder may have released the lock, or its
   *   session may have ended: the znodes look the same.
   * - `asked`: a holder was asked to release (`revoke`).
   * - `taken`: the znode of a holder that was told to stop (`forceRelease`) was deleted.
   * - `lost`: a holder's znode was deleted together with all other znodes of its session, among them a waiter's.
   */
  readonly type: 'granted' | 'handed-over' | 'released' | 'asked' | 'taken' | 'lost';
  readonly from?: ParticipantZnode;
  readonly to?: ParticipantZnode;
  /** True if it happened while the connection to ZooKeeper was lost, so that its time is not known. */
  readonly duringOutage: boolean;
}

/** The difference between two looks at one lock. */
export function eventsBetween(
  before: Holders,
  after: LockView | undefined,
  circumstances: Circumstances,
): BoardEvent[] {
  const { path, atMs, duringOutage } = circumstances;
  const base = { atMs, path, duringOutage };
  const now = after?.holders ?? [];
  const gone = before.holders.filter((znode) => !now.includes(znode));
  const come = now.filter((znode) => !before.holders.includes(znode));
  const events: BoardEvent[] = [];
  for (const from of gone) {
    const why = reasonOf(from, circumstances);
    const to = come.shift();
    if (why !== 'released') events.push({ ...base, type: why, from });
    if (to && why === 'released') events.push({ ...base, type: 'handed-over', from, to });
    else if (to) events.push({ ...base, type: 'granted', to });
    else if (why === 'released') events.push({ ...base, type: 'released', from });
  }
  for (const to of come) events.push({ ...base, type: 'granted', to });
  for (const from of now)
    if (from.content?.mark !== undefined && !before.marked.has(from)) events.push({ ...base, type: 'asked', from });
  return events;
}

/** The holders at the last look, and those of them that had been asked to release. */
export interface Holders {
  readonly holders: readonly ParticipantZnode[];
  readonly marked: ReadonlySet<ParticipantZnode>;
}

export function holdersOf(view: LockView | undefined): Holders {
  const holders = view?.holders ?? [];
  return { holders, marked: new Set(holders.filter(({ content }) => content?.mark !== undefined)) };
}

interface Circumstances {
  readonly path: string;
  readonly atMs: number;
  readonly duringOutage: boolean;
  /** True if the session of the participant, which has left, has ended as a whole. */
  isLost(znode: ParticipantZnode): boolean;
}

function reasonOf(znode: ParticipantZnode, circumstances: Circumstances): 'released' | 'taken' | 'lost' {
  if (znode.content?.mark === 'force') return 'taken';
  return circumstances.isLost(znode) ? 'lost' : 'released';
}
