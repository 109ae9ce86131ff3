import { LockBoard } from '../../board/lock-board.js';
import type { LockClient } from '../../../../../src/client/lock-client.js';
import { refused } from '../../../../../src/client/report/refusal.js';
import { validatePath } from '../../../../../src/zookeeper/wire/path.js';
import { connect, type connectionOptions } from '../connect/connection.js';
import type { Io } from '../io.js';
import type { Arguments } from '../verb.js';

/** A connected client, and its board of the locks below a path. */
export interface OpenBoard extends AsyncDisposable {
  readonly client: LockClient;
  readonly board: LockBoard;
}

/**
 * Connects, and resolves when the board has read everything once.
 *
 * @throws InvalidPathError for a bad path
 * @throws UnansweredError if the servers answer, but not completely within the connect timeout
 * @throws RequestFailedError if the servers refuse to show the path
 */
export async function openBoard(args: Arguments<typeof connectionOptions>, root: string, io: Io): Promise<OpenBoard> {
  validatePath(root);
  const { options } = args;
  const client = await connect(args, io, { sessionTimeoutMs: options['session-timeout'] ?? observerTimeoutMs });
  const close = (): Promise<void> => client.close({ timeoutMs: 1_000 });
  try {
    const board = await readBoard(args, root, client);
    return {
      client,
      board,
      async [Symbol.asyncDispose]() {
        board.close();
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** As `openBoard`, with a client that is connected. The caller closes the board. */
export async function readBoard(
  { options }: Arguments<typeof connectionOptions>,
  root: string,
  client: LockClient,
): Promise<LockBoard> {
  const board = new LockBoard(client.host, root);
  try {
    await untilLive({ client, board }, options['connect-timeout'] ?? defaultWaitMs);
    const hidden = board.unreadable.get(root);
    if (hidden) refused(client.host.options, `The locks below ${root} cannot be read`)(hidden.error);
    return board;
  } catch (error) {
    board.close();
    throw error;
  }
}

/** The servers stopped to answer before the locks were read. */
export class UnansweredError extends Error {
  static {
    this.prototype.name = 'UnansweredError';
  }
}

/** Shorter than for a holder: an observer loses nothing with its session, and notices a dead link sooner. */
const observerTimeoutMs = 10_000;

const defaultWaitMs = 15_000;

/** Big trees take time, so only a pause without a connection counts. */
function untilLive({ client, board }: Pick<OpenBoard, 'client' | 'board'>, limitMs: number): Promise<void> {
  const { sessions, clock } = client.host;
  return new Promise((resolve, reject) => {
    let cancel = (): void => undefined;
    const settle = (how: () => void): void => {
      cancel();
      stopBoard();
      stopClient();
      how();
    };
    const look = (): void => {
      cancel();
      cancel = (): void => undefined;
      if (board.state.is === 'live') settle(resolve);
      else if (!sessions.current.isConnected)
        cancel = clock.after(limitMs, () =>
          settle(() => reject(new UnansweredError(`The servers did not answer within ${limitMs / 1_000} s`))),
        );
    };
    const stopBoard = board.onChange(look);
    const stopClient = sessions.onChange(look);
    look();
  });
}
