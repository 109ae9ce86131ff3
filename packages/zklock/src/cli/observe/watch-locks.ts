import { eventJson, lockJson, stateJson, unreadableJson, type UnreadableJson } from '../../board/lock-json.js';
import type { LockBoard } from '../../board/lock-board.js';
import type { connectionOptions } from '../connect/connection.js';
import { exitCodeOfSignal } from '../exit-code.js';
import type { Io } from '../io.js';
import type { Arguments } from '../verb.js';
import { eventText, stateText } from './lock-table.js';
import { openBoard } from './open-board.js';
import { printable, printableJson } from '../../../../../src/support/printable.js';
import { showScreen } from './screen.js';
import { unlessUnanswered } from './unanswered.js';
import { exitCodeOfBoard, unreadableText } from './unreadable.js';

type WatchArguments = Arguments<
  typeof connectionOptions & { readonly json: { readonly kind: 'flag'; summary: string } }
>;

/** Shows the locks below a path until the user leaves. */
export function watchLocks(args: WatchArguments, io: Io): Promise<number> {
  const [root = '/'] = args.operands;
  return unlessUnanswered(io, async () => {
    await using open = await openBoard(args, root, io);
    const { json } = args.options;
    if (io.isTerminal && io.stdin.isTTY && !json) return await showScreen(open.board, io);
    return await printEvents(open.board, io, json);
  });
}

/** The first lines show the present state; each later line is an event. */
function printEvents(board: LockBoard, io: Io, json: boolean): Promise<number> {
  const print = (line: string): void => void io.stdout.write(`${line}\n`);
  let wasCutOff = false;
  let missing: readonly UnreadableJson[] = [];
  /** Prints the state where it has changed: the connection, or the znodes that are not shown. */
  const printState = (): void => {
    const at = new Date().toISOString();
    const { is, since } = stateJson(board);
    const isCutOff = is === 'cut-off';
    const now = isCutOff ? missing : unreadableJson(board);
    const isOther = JSON.stringify(now) !== JSON.stringify(missing);
    if (json && (isOther || isCutOff !== wasCutOff)) print(printableJson({ type: is, at, since, unreadable: now }));
    if (!json && isCutOff !== wasCutOff) print(`${at} ${isCutOff ? 'cut off from ZooKeeper' : 'connected again'}`);
    if (!json && isOther) io.stderr.write(unreadableText(board) ?? 'All is shown again\n');
    wasCutOff = isCutOff;
    missing = now;
  };
  for (const view of board.locks.values()) {
    const lock = lockJson(view);
    if (json) print(printableJson({ type: 'lock', at: new Date().toISOString(), lock }));
    else
      print(
        `${new Date().toISOString()} ${stateText(lock, Date.now()).padEnd(11)} ${printable(lock.path)} ${lock.waiterCount} waiting`,
      );
  }
  printState();
  return new Promise((resolve) => {
    const stops = [
      board.onChange((change) => {
        printState();
        for (const event of change.events) print(json ? printableJson(eventJson(event)) : eventText(eventJson(event)));
      }),
      ...(['SIGINT', 'SIGTERM', 'SIGHUP'] as const).map((signal) =>
        io.onSignal(signal, () => end(exitCodeOfSignal(signal))),
      ),
    ];
    const end = (code: number): void => {
      for (const stop of stops) stop();
      resolve(code);
    };
    // The reader of a pipe has left.
    io.stdout.once('close', () => end(exitCodeOfBoard(board)));
  });
}
