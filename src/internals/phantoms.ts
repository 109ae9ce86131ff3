import type { ClientReport } from '../client/client-report.js';
import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { check, exists } from '../zookeeper/operations.js';
import type { Session } from '../zookeeper/session.js';

/**
 * Asks the quorum, after each session timeout of waiting, whether the znodes that the waiter waits for exist. A follower
 * that has lost transactions goes on showing a znode that all other servers have deleted (ZOOKEEPER-4837,
 * ZOOKEEPER-5010), and its waiters would wait without a word. A znode that only this server shows makes the session
 * attach to another server, which reports the deletion.
 *
 * @param paths returns the znodes, at most a hundred of which are asked for
 * @param recheck called at another server, or if this server does not show the znode either and has not told its deletion
 * @returns a function that ends the questions
 */
export function seekPhantoms(
  session: Session,
  tools: PhantomTools,
  paths: () => readonly string[],
  recheck: () => void,
): () => void {
  let cancel: CancelTimer = () => {};
  let isOver = false;
  const look = async (): Promise<void> => {
    const found = await phantomAmong(session, paths().slice(0, mostPaths)).catch(unknownYet);
    if (isOver) return;
    if (found?.is === 'phantom') {
      const { report } = tools;
      report.warn(`${phantomText(session, report.onServers(found.path))}. Connecting to another server`, undefined);
      // A watch on a list of children does not tell of deletions that the wrong server should have shown before.
      session.attachElsewhere(() => isOver || recheck());
    } else if (found?.is === 'gone') recheck();
    wait();
  };
  const wait = (): void => {
    cancel = tools.clock.after(session.timeoutMs, () => void inNoContext(look));
  };
  wait();
  return () => {
    isOver = true;
    cancel();
  };
}

export interface PhantomTools {
  readonly report: Pick<ClientReport, 'warn' | 'onServers'>;
  readonly clock: Pick<Clock, 'after'>;
}

/** The first of the znodes that the quorum does not have; `phantom` if this server shows it all the same. */
export async function phantomAmong(
  session: Session,
  paths: readonly string[],
): Promise<{ readonly is: 'phantom' | 'gone'; readonly path: string } | undefined> {
  if (paths.length === 0) return undefined;
  const { value } = await session.request(check(paths));
  if (value.is === 'done') return undefined;
  const path = paths[value.errors.findIndex((error) => error?.is('NO_NODE'))];
  if (path === undefined) return undefined;
  // The answer above comes behind every deletion that this server has learned of.
  return { is: (await session.find(exists(path))) ? 'phantom' : 'gone', path };
}

/** The words for a phantom, and for what to do. */
export function phantomText(session: Session, pathOnServers: string): string {
  return `${session.connection.server} shows ${pathOnServers}, which the quorum does not have (ZOOKEEPER-5010): stop that server, empty its data directory, and start it again`;
}

const mostPaths = 100;

function unknownYet(): undefined {
  // The next question is asked after the next session timeout, perhaps on another connection.
}
