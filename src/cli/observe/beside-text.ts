import type { LockBoard } from '../../board/lock-board.js';
import { printable } from '../../support/printable.js';

/** A line for standard error that says what is at a path without a holder and a waiter. Empty if nothing is. */
export function besideText(board: LockBoard, path: string): string {
  if (board.locks.size > 0) return `${board.locks.size} locks are below this path: zklock ls ${printable(path)}\n`;
  const others = board.othersAt(path);
  if (others === 0) return '';
  const what = others === 1 ? '1 znode' : `${others} znodes`;
  return `At this path, ${what} may be a lock of another kind, which this command does not know\n`;
}
