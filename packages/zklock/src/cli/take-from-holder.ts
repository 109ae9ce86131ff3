import type { LockBoard } from '../board/lock-board.js';
import { lockJson } from '../board/lock-json.js';
import type { LockClient } from '../../../../src/client/lock-client.js';
import { lockPath } from '../../../../src/zookeeper/wire/path.js';
import { isZooKeeperError } from '../../../../src/zookeeper/wire/zookeeper-error.js';
import { phantomAmong, phantomText } from '../../../../src/internals/phantoms.js';
import { unownedText } from '../../../../src/internals/znode/unowned.js';
import type { connectionOptions } from './connect/connection.js';
import { exitCodes } from './exit-code.js';
import { holderOf, ownerOf, type Meant } from './holder-of.js';
import type { Io } from './io.js';
import { besideText, strangersText } from './observe/beside-text.js';
import { emptyLock } from './observe/list-locks.js';
import { openBoard, readBoard, type OpenBoard } from './observe/open-board.js';
import { printable, printableJson } from '../../../../src/support/printable.js';
import { unlessUnanswered } from './observe/unanswered.js';
import type { Arguments } from './verb.js';

type AskOptions = typeof connectionOptions & { readonly json: { readonly kind: 'flag'; readonly summary: string } };
type TakeOptions = AskOptions & {
  readonly wait: { readonly kind: 'seconds'; readonly value: string; readonly summary: string };
};

/** The verb `revoke`. Resolves with the exit code. */
export function askHolder(args: Arguments<AskOptions>, io: Io): Promise<number> {
  return withHolder(args, io, async (client, znode) => {
    const { requestRelease } = await import('../../../../src/revocation/revocation.js');
    return (await requestRelease(client, znode)) === 'marked' ? 'asked' : 'released';
  });
}

/** The verb `release`. Resolves with the exit code. */
export function takeFromHolder(args: Arguments<TakeOptions>, io: Io): Promise<number> {
  return withHolder(args, io, async (client, znode) => {
    const { forceRelease } = await import('../../../../src/revocation/revocation.js');
    return forceRelease(client, znode, { timeoutMs: args.options.wait });
  });
}

/** `free`: nobody held the lock. `released`: the holder released it, perhaps before it was asked. */
type Done = 'asked' | 'released' | 'deleted' | 'free';

function withHolder(
  args: Arguments<AskOptions>,
  io: Io,
  act: (client: LockClient, znode: string) => Promise<Done>,
): Promise<number> {
  const path = lockPath(args.operands[0]);
  return unlessUnanswered(io, async () => {
    await using open = await openBoard(args, path, io);
    const { client, board } = open;
    const holder = await holderOf(client.host, board, path);
    const znode = holder?.path;
    const again = await holderInSecondRead(args, open, path);
    // Unless the lock has passed on between the reads.
    if (again && again.path !== znode && (!holder || (await ownerOf(client.host, holder.path)) !== undefined)) {
      io.stderr.write(`nothing done: two reads of ${printable(path)} show different holders. Run the command again\n`);
      return exitCodes.failed;
    }
    const isOwned = holder?.isOwned !== false;
    const done = znode === undefined || !isOwned ? 'free' : await act(client, znode).catch(unlessGone);
    const phantom = done === 'released' && znode !== undefined ? await phantomAt(client, znode) : undefined;
    const why = !holder
      ? strangersAt(board, path)
      : isOwned
        ? phantom
        : unownedText(holder.path, client.host.report.onServers(holder.path));
    if (why !== undefined) {
      if (args.options.json) io.stdout.write(`${printableJson({ path, znode, done: 'nothing' })}\n`);
      io.stderr.write(`nothing to release: ${printable(why)}\n`);
      return exitCodes.failed;
    }
    if (args.options.json) io.stdout.write(`${printableJson({ path, znode, done })}\n`);
    else if (znode !== undefined) io.stdout.write(`${done} ${printable(znode)}\n`);
    else io.stderr.write(`nobody holds ${printable(path)}\n`);
    if (znode === undefined && !board.locks.has(path)) io.stderr.write(besideText(board, path));
    return exitCodes.success;
  });
}

/** The words for a path with other znodes and no participant: nobody saw that it is free. */
function strangersAt(board: LockBoard, path: string): string | undefined {
  const view = board.locks.get(path);
  const isUnknown = (view ? lockJson(view) : emptyLock(board, path)).state === 'unknown';
  return isUnknown ? strangersText(view?.others ?? board.othersAt(path)) : undefined;
}

/** One bit of a list that was changed on its way may show a waiter as the holder. */
async function holderInSecondRead(
  args: Arguments<AskOptions>,
  { client }: OpenBoard,
  path: string,
): Promise<Meant | undefined> {
  const board = await readBoard(args, path, client);
  try {
    return await holderOf(client.host, board, path);
  } finally {
    board.close();
  }
}

/** The words for a znode that only the server of this client still shows. */
async function phantomAt({ host: { sessions, report } }: LockClient, znode: string): Promise<string | undefined> {
  const session = sessions.current;
  const found = await phantomAmong(session, [znode]).catch(() => undefined);
  return found?.is === 'phantom' ? phantomText(session, report.onServers(znode)) : undefined;
}

function unlessGone(error: unknown): 'released' {
  if (isZooKeeperError((error as Error).cause, 'NO_NODE')) return 'released';
  throw error;
}
