import {
  eventJson,
  lockJson,
  stateJson,
  unreadableJson,
  type EventJson,
  type LockJson,
  type StateJson,
  type UnreadableJson,
} from './lock-json.js';
import type { LockBoard } from './lock-board.js';

/** A board in JSON, as `zklock ls --json` and the console's `GET /api/locks` show it. */
export interface BoardJson {
  readonly root: string;
  /** By this machine's clock. */
  readonly at: string;
  readonly state: StateJson;
  /** Sorted by path. */
  readonly locks: readonly LockJson[];
  /** The events of the last minutes, the oldest first. */
  readonly events: readonly EventJson[];
  /** The znodes that cannot be read, sorted by path. */
  readonly unreadable: readonly UnreadableJson[];
}

/** @param path shows only the lock there */
export function boardJson(board: LockBoard, path?: string): BoardJson {
  const views = [...board.locks.values()].filter((view) => path === undefined || view.path === path);
  const events = board.events.filter((event) => path === undefined || event.path === path);
  return {
    root: board.root,
    at: new Date(board.nowMs).toISOString(),
    state: stateJson(board),
    locks: views.sort((a, b) => (a.path < b.path ? -1 : 1)).map((view) => lockJson(view)),
    events: events.map(eventJson),
    unreadable: unreadableJson(board),
  };
}
