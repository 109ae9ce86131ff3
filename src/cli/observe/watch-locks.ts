import { eventJson, lockJson, stateJson } from '../../board/lock-json.js';
import type { BoardState, LockBoard } from '../../board/lock-board.js';
import type { connectionOptions } from '../connection.js';
import { exitCodeOfSignal, exitCodes } from '../exit-code.js';
import type { Io } from '../io.js';
import type { Arguments } from '../verb.js';
import { eventText } from './lock-table.js';
import { openBoard } from './open-board.js';
import { printable, printableJson } from '../../support/printable.js';
import { showScreen } from './screen.js';
import { unlessUnanswered } from './unanswered.js';

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
  let state = board.state.is;
  const printState = (now: BoardState): void => {
    if (now.is === state) return;
    state = now.is;
    if (json)
      print(
        printableJson({
          type: now.is,
          at: new Date().toISOString(),
          ...stateJson({ state: now, unreadable: board.unreadable }),
        }),
      );
    else print(`${new Date().toISOString()} ${now.is === 'live' ? 'connected again' : 'cut off from ZooKeeper'}`);
  };
  for (const view of board.locks.values()) {
    const lock = lockJson(view);
    if (json) print(printableJson({ type: 'lock', at: new Date().toISOString(), lock }));
    else
      print(`${new Date().toISOString()} ${lock.state.padEnd(11)} ${printable(lock.path)} ${lock.waiterCount} waiting`);
  }
  return new Promise((resolve) => {
    const stops = [
      board.onChange((change) => {
        printState(change.state);
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
    io.stdout.once('close', () => end(exitCodes.success));
  });
}
