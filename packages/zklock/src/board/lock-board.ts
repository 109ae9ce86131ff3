import type { LockHost } from '../../../../src/client/lock-host.js';
import { Listeners } from '../../../../src/support/listeners.js';
import { eventsBetween, holdersOf, type BoardEvent, type Holders } from './board-event.js';
import { Departures } from './departures.js';
import {
  areHoldersHidden,
  isPartOfSemaphore,
  lockAt,
  locksTouchedBy,
  mayBecomePartOfSemaphore,
  noteGrants,
  othersIn,
  type LockView,
} from './lock-view.js';
import type { ParticipantZnode, Unreadable } from './participant-znode.js';
import { ZnodeTree, type Directory, type TreeListener } from './znode-tree.js';

/**
 * A live view of all locks below a path, of every kind, and a timeline of what happened to them. It only reads.
 *
 * @example
 * const board = new LockBoard(client, '/locks');
 * board.onChange(({ locks }) => render(locks));
 */
export class LockBoard implements TreeListener {
  readonly root: string;
  readonly #host: LockHost;
  readonly #tree: ZnodeTree;
  readonly #departures = new Departures();
  readonly #locks = new Map<string, LockView>();
  /** The holders at the last look. The znodes of a view change, but these do not. */
  readonly #holders = new Map<string, Holders>();
  readonly #changes = new Listeners<BoardChange>();
  readonly #dirty = new Set<string>();
  /** Locks that could not be read at the last look. */
  readonly #revealed = new Set<string>();
  /** Mutexes that are not shown yet, and when the first look at each was. */
  #undecided: ReadonlyMap<string, number> = new Map();
  #events: BoardEvent[] = [];
  #state: BoardState = { is: 'reading' };
  #looked: 'never' | 'once' = 'never';
  #lookedAt = -Infinity;
  #cancelLook: (() => void) | undefined;

  constructor(host: LockHost, root: string) {
    this.root = root;
    this.#host = host;
    this.#tree = new ZnodeTree(host, root, this);
  }

  get state(): BoardState {
    return this.#state;
  }

  /** The locks, by path. */
  get locks(): ReadonlyMap<string, LockView> {
    return this.#locks;
  }

  /** The time of day, in milliseconds since 1970. */
  get nowMs(): number {
    return this.#host.clock.wall();
  }

  /** The events of the last minutes, the oldest first. */
  get events(): readonly BoardEvent[] {
    this.#events = this.#events.filter(({ atMs }) => atMs > this.#host.clock.wall() - timelineMs).slice(-mostEvents);
    return this.#events;
  }

  /** The znodes that the servers refuse to show, by path. */
  get unreadable(): ReadonlyMap<string, Unreadable> {
    return this.#tree.unreadable;
  }

  /** The number of children that are no participants of any lock. */
  othersAt(path: string): number {
    return othersIn(path, this.#tree);
  }

  hasChildren(path: string): boolean {
    return this.#tree.directories.get(path)?.hasChildren === true;
  }

  /** True if one recursive watch covers all locks. */
  get isRecursive(): boolean {
    return this.#tree.isRecursive;
  }

  /** Calls `listener` at most every 50 ms, with what has changed since its last call. */
  onChange(listener: (change: BoardChange) => void): () => void {
    return this.#changes.add(listener);
  }

  close(): void {
    this.#tree.close();
    this.#stopLooking();
  }

  // The methods of TreeListener.

  changed(path: string): void {
    for (const lock of locksTouchedBy(path)) this.#dirty.add(lock);
    if (this.#state.is === 'live') this.#lookSoon();
  }

  revealed(path: string): void {
    for (const lock of locksTouchedBy(path)) this.#revealed.add(lock);
    this.changed(path);
  }

  joined(znode: ParticipantZnode): void {
    this.#departures.joined(znode);
  }

  left(znode: ParticipantZnode, directory: Directory, latest?: bigint): void {
    this.#departures.left(znode);
    noteGrants(znode, directory, { directories: this.#tree.directories, latest });
  }

  complete(): void {
    const wasCutOff = this.#state.is === 'cut-off';
    this.#state = { is: 'live' };
    this.#look({ duringOutage: wasCutOff });
  }

  cutOff(): void {
    if (this.#state.is !== 'live') return;
    this.#stopLooking();
    this.#look({ duringOutage: false });
    this.#stopLooking();
    this.#state = { is: 'cut-off', sinceMs: this.#host.clock.wall() };
    this.#changes.tell({ locks: [], gone: [], events: [], state: this.#state });
  }

  #lookSoon(): void {
    if (this.#cancelLook) return;
    const { clock } = this.#host;
    const delayMs = Math.max(settleMs, this.#lookedAt + pauseMs - clock.now());
    this.#cancelLook = clock.after(delayMs, () => this.#look({ duringOutage: false }));
  }

  #stopLooking(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
  }

  #look({ duringOutage }: { readonly duringOutage: boolean }): void {
    this.#cancelLook = undefined;
    this.#lookedAt = this.#host.clock.now();
    const locks: LockView[] = [];
    const gone: string[] = [];
    const events: BoardEvent[] = [];
    const undecided = new Map<string, number>();
    for (const path of this.#dirty) {
      const before = this.#locks.get(path);
      const after = this.#tree.isRefused(path) ? undefined : lockAt(path, this.#tree, before?.kind);
      if (!before && !after) continue;
      const sinceMs = this.#undecided.get(path) ?? this.#lookedAt;
      const isNew = !before && this.#looked !== 'never' && this.#lookedAt < sinceMs + decisionMs;
      if (isNew && after && mayBecomePartOfSemaphore(after)) {
        undecided.set(path, sinceMs);
        continue;
      }
      events.push(...this.#eventsAt(path, after, duringOutage));
      if (after) {
        this.#locks.set(path, after);
        locks.push(after);
      } else {
        this.#locks.delete(path);
        gone.push(path);
      }
    }
    this.#dirty.clear();
    this.#undecided = undecided;
    for (const path of undecided.keys()) this.changed(path);
    this.#revealed.clear();
    this.#departures.forget();
    this.#looked = 'once';
    this.#events.push(...events);
    if (this.#events.length > 2 * mostEvents) this.#events = this.#events.slice(-mostEvents);
    this.#changes.tell({ locks, gone, events, state: this.#state });
  }

  /**
   * The first look shows the locks as they are, and says nothing about what happened before. Nor is anything known of a
   * lock that may not be read any more.
   */
  #eventsAt(path: string, after: LockView | undefined, duringOutage: boolean): BoardEvent[] {
    const views = [this.#locks.get(path), after];
    const areHidden =
      this.#tree.isRefused(path) ||
      this.#revealed.has(path) ||
      isPartOfSemaphore(path, this.#tree) ||
      views.some((view) => view && areHoldersHidden(view));
    const before = this.#holders.get(path) ?? holdersOf(undefined);
    if (after) this.#holders.set(path, holdersOf(after));
    else this.#holders.delete(path);
    const atMs = this.#host.clock.wall();
    const isFirst = this.#looked === 'never';
    const events =
      isFirst || areHidden
        ? []
        : eventsBetween(before, after, {
            path,
            atMs,
            duringOutage,
            isLost: (znode) => this.#departures.hasEnded(znode),
          });
    for (const znode of after?.waiters ?? []) znode.isHolder = false;
    for (const znode of after?.holders ?? []) {
      if (!znode.isHolder && !isFirst && !duringOutage && !areHidden) znode.heldSince = atMs;
      znode.isHolder = true;
    }
    return events;
  }
}

/** `cut-off`: the servers cannot be reached, so what the board shows may be old. */
export type BoardState =
  { readonly is: 'reading' } | { readonly is: 'live' } | { readonly is: 'cut-off'; readonly sinceMs: number };

/** The changes since the last call of a listener. */
export interface BoardChange {
  readonly locks: readonly LockView[];
  /** The paths of the locks that do not exist any more. */
  readonly gone: readonly string[];
  readonly events: readonly BoardEvent[];
  readonly state: BoardState;
}

/** The pause between two looks. */
const pauseMs = 50;

/** Time for the data of a new znode to arrive, so that the first look shows them. */
const settleMs = 5;

/** The permits of a semaphore follow its mutex within some round trips. */
const decisionMs = 1_000;

const timelineMs = 15 * 60_000;

const mostEvents = 1_000;
