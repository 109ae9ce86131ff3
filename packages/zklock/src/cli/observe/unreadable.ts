import type { LockBoard } from '../../board/lock-board.js';
import { commandErrorText } from '../own-words.js';
import { printable } from '../../../../../src/support/printable.js';
import { TooLongError } from '../../../../../src/zookeeper/wire/frames.js';
import { exitCodes } from '../exit-code.js';
import { exitCodeOf } from '../failure.js';

/** A line for standard error that names what a board does not show. Undefined if it shows all. */
export function unreadableText({ unreadable }: Pick<LockBoard, 'unreadable'>): string | undefined {
  const [first] = unreadable;
  if (!first) return undefined;
  const [path, { error, sinceMs }] = first;
  const why = error instanceof Error && error.cause instanceof TooLongError ? error.cause : error;
  const what = unreadable.size === 1 ? '1 znode' : `${unreadable.size} znodes`;
  return `Not all is shown: ${what} could not be read, such as ${printable(path)} (since ${new Date(sinceMs).toISOString()}): ${commandErrorText(why)}\n`;
}

/** Success only if the board shows all. */
export function exitCodeOfBoard({ unreadable }: Pick<LockBoard, 'unreadable'>): number {
  const [first] = unreadable.values();
  return unreadable.size === 0 ? exitCodes.success : exitCodeOf(first?.error);
}
