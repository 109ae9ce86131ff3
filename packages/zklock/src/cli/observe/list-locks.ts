import { boardJson } from '../../board/board-json.js';
import { lockJson, type LockJson } from '../../board/lock-json.js';
import type { LockBoard } from '../../board/lock-board.js';
import { lockPath } from '../../../../../src/zookeeper/wire/path.js';
import type { connectionOptions, jsonOption } from '../connect/connection.js';
import type { Io } from '../io.js';
import type { Arguments } from '../verb.js';
import { besideText } from './beside-text.js';
import { lockHeader, lockRow, othersText, statusText, tableText } from './lock-table.js';
import { openBoard } from './open-board.js';
import { printable, printableJson } from '../../../../../src/support/printable.js';
import { unlessUnanswered } from './unanswered.js';
import { exitCodeOfBoard, unreadableText } from './unreadable.js';

type ListArguments = Arguments<typeof connectionOptions & { readonly json: typeof jsonOption }>;

/** Prints all locks below a path. */
export function listLocks(args: ListArguments, io: Io): Promise<number> {
  const [root = '/'] = args.operands;
  return unlessUnanswered(io, async () => {
    await using open = await openBoard(args, root, io);
    const content = boardJson(open.board);
    const { locks } = content;
    if (args.options.json) io.stdout.write(`${printableJson(content, 2)}\n`);
    else if (locks.length > 0)
      io.stdout.write(tableText([lockHeader, ...locks.map((lock) => lockRow(lock, Date.now()))]));
    else if (open.board.unreadable.size === 0) io.stderr.write(`No locks below ${printable(root)}\n`);
    return tellUnreadable(open.board, io);
  });
}

/** Prints everything about one lock. */
export function showStatus(args: ListArguments, io: Io): Promise<number> {
  const path = lockPath(args.operands[0]);
  return unlessUnanswered(io, async () => {
    await using open = await openBoard(args, path, io);
    const { board, client } = open;
    const view = board.locks.get(path);
    const lock = view ? lockJson(view) : undefined;
    const isFree = !lock && board.unreadable.size === 0;
    const empty = emptyLock(board, path);
    if (args.options.json && (lock || isFree)) io.stdout.write(`${printableJson(lock ?? empty, 2)}\n`);
    else if (lock)
      io.stdout.write(statusText(lock, { nowMs: Date.now(), onServers: (path) => client.host.report.onServers(path) }));
    else if (isFree)
      io.stdout.write(
        `${printable(path)}: ${empty.state}, 0 waiting${empty.state === 'free' ? '' : othersText(empty.otherCount)}\n`,
      );
    if (!lock) io.stderr.write(besideText(board, path));
    return tellUnreadable(board, io);
  });
}

/** A lock without participants cannot be told from a znode of another kind, such as the parent of locks. */
export function emptyLock(board: LockBoard, path: string): Omit<LockJson, 'kind'> & { readonly kind: null } {
  const otherCount = board.othersAt(path);
  const state = otherCount > 0 && board.locks.size === 0 ? 'unknown' : 'free';
  const nobody = { holders: [], waiters: [], holderCount: 0, waiterCount: 0 };
  return { path, kind: null, state, unreadableSince: null, ...nobody, otherCount };
}

/** Names what is missing, and returns the exit code. */
function tellUnreadable(board: LockBoard, io: Io): number {
  const text = unreadableText(board);
  if (text !== undefined) io.stderr.write(text);
  return exitCodeOfBoard(board);
}
