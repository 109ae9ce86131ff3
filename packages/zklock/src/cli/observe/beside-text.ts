import type { LockBoard } from '../../board/lock-board.js';
import { printable } from '../../../../../src/support/printable.js';

/** A line for standard error that says what is at a path without a holder and a waiter. Empty if nothing is. */
export function besideText(board: LockBoard, path: string): string {
  const { size } = board.locks;
  const others = board.othersAt(path);
  if (size > 0)
    return `${size === 1 ? '1 lock is' : `${size} locks are`} below this path: zklock ls ${printable(path)}\n`;
  return others === 0 ? '' : `${strangersText(others)}\n`;
}

/** The words for the other znodes of a path without a participant. */
export function strangersText(count: number): string {
  const what = count === 1 ? '1 znode' : `${count} znodes`;
  return `${what} at this path may be a lock of another kind, which this command does not know`;
}
