import type { BoardEvent } from '../../board/board-event.js';
import { eventJson, oldestMs, type LockJson } from '../../board/lock-json.js';
import type { BoardState, LockBoard } from '../../board/lock-board.js';
import type { LockView } from '../../board/lock-view.js';
import { eventText, lockHeader, lockRow, type LockRow } from './lock-table.js';
import { printable } from '../../../../../src/support/printable.js';
import { ageText, fitted } from './column.js';

/** The orders that the key s goes through. */
export type Order = 'path' | 'waiters' | 'change';

/** The content of a screen, and its size. */
export interface ScreenContent {
  readonly columns: number;
  readonly rows: number;
  /** The index of the first lock to show. */
  readonly top: number;
  readonly order: Order;
  readonly root: string;
  readonly state: BoardState;
  readonly unreadable: LockBoard['unreadable'];
  readonly events: readonly BoardEvent[];
  readonly nowMs: number;
  json(view: LockView): LockJson;
}

/** The lines of the screen, none longer than the screen is wide. */
export function screenText(views: readonly LockView[], content: ScreenContent): string {
  const { columns, rows, top, nowMs } = content;
  const events = content.events.slice(-Math.max(0, rows - 8)).map((event) => eventText(eventJson(event)));
  const room = Math.max(1, rows - 4 - events.length);
  const shown = views.slice(top, top + room).map((view) => lockRow(content.json(view), nowMs));
  const widths = widthsFor(columns, Math.max(5, ...shown.map(({ state }) => state.length)));
  const lines = [
    titleOf(views, content),
    lineOf(lockHeader, widths),
    ...shown.map((row) => lineOf(row, widths)),
    '',
    ...events,
    `q leaves · s order: ${content.order} · ↑↓ scroll · ${views.length === 0 ? 0 : top + 1}–${top + shown.length} of ${views.length}`,
  ];
  return lines
    .slice(0, rows)
    .map((line) => fitted(line, columns).trimEnd())
    .join('\n');
}

function titleOf(views: readonly LockView[], { root, state, unreadable, nowMs }: ScreenContent): string {
  const waiting = views.reduce((sum, { waiters }) => sum + waiters.length, 0);
  const held = views.filter(
    ({ holders, unreadableSince }) => holders.length > 0 && unreadableSince === undefined,
  ).length;
  const counts = `${printable(root)}: ${views.length} locks, ${held} held, ${waiting} waiting`;
  if (state.is === 'cut-off')
    return `CUT OFF FROM ZOOKEEPER for ${ageText(nowMs - state.sinceMs)}: this may be old · ${counts}`;
  if (unreadable.size === 0) return counts;
  return `NOT ALL IS SHOWN: ${unreadable.size} znodes not readable for ${ageText(nowMs - oldestMs(unreadable))} · ${counts}`;
}

/** The path and the holder share what the other columns leave. */
function widthsFor(columns: number, state: number): Readonly<Record<keyof LockRow, number>> {
  const fixed = { kind: 10, state, since: 9, waiting: 7 };
  const left = Math.max(16, columns - 26 - state - 5 * 2);
  const path = Math.ceil(left * 0.6);
  return { ...fixed, path, holder: left - path };
}

function lineOf(row: LockRow, widths: Readonly<Record<keyof LockRow, number>>): string {
  return (Object.keys(lockHeader) as (keyof LockRow)[]).map((name) => fitted(row[name], widths[name])).join('  ');
}
