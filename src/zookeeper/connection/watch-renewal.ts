import {
  getChildren,
  getData,
  setWatches,
  type Operation,
  type WatchEventType,
  type WatchKind,
} from '../wire/operations.js';
import type { Reply } from '../wire/replies.js';
import { isZooKeeperError, ZooKeeperError } from '../wire/zookeeper-error.js';
import { reached } from '../../support/reached.js';

/**
 * Plants the watches of a session on a new connection, in several requests, because the server refuses one SetWatches of
 * over 1 MB forever. The server reports at once what has happened since the session's newest transaction.
 */
export function renewWatches(renewal: WatchRenewal): void {
  for (const kind of ['data', 'children'] as const) {
    if (renewal.oneByOne) for (const path of renewal.paths(kind)) renewOne(renewal, kind, path);
    else renewAll(renewal, kind);
  }
}

function renewAll({ since, chrootBytes, paths, send, failed }: WatchRenewal, kind: WatchKind): void {
  let some: string[] = [];
  let bytes = 0;
  const flush = (): void => {
    if (some.length === 0) return;
    const planned = some;
    // If the server postpones the request, a watch may have been removed before it is sent again.
    const wanted = (): string[] => {
      const present = new Set(paths(kind));
      return planned.filter((path) => present.has(path));
    };
    send(setWatches(since, kind, wanted)).catch((error: unknown) => {
      if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS')) failed(error);
    });
    some = [];
    bytes = 0;
  };
  for (const path of paths(kind)) {
    const more = 4 + chrootBytes + Buffer.byteLength(path);
    if (bytes + more > longestSetWatches) flush();
    if (kind === 'children') reached('a watch on children renewed');
    some.push(path);
    bytes += more;
  }
  flush();
}

/** For a server without SetWatches: plants one watch by its read, and compares what it reads. */
function renewOne({ since, send, fired }: WatchRenewal, kind: WatchKind, path: string): void {
  const refused = (error: unknown): void => {
    if (isZooKeeperError(error, 'NO_NODE')) fired(path, 'deleted');
    // The watch is not there. The listener must not wait for it: it reads again, and gets the error.
    else if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS'))
      fired(path, kind === 'children' ? 'children' : 'changed');
  };
  if (kind === 'children') {
    // Its answer has no zxid of the last change. An event too many costs one more list.
    send(getChildren(path, true)).then(() => fired(path, 'children'), refused);
    return;
  }
  send(getData(path, true)).then(({ value }) => {
    if (value.stat.mzxid > since) fired(path, 'changed');
  }, refused);
}

export interface WatchRenewal {
  /** The newest transaction that the session has seen. */
  readonly since: bigint;
  /** The length of the prefix of every path on the servers. */
  readonly chrootBytes: number;
  /** True if the server has no SetWatches. */
  readonly oneByOne: boolean;
  readonly paths: (kind: WatchKind) => string[];
  readonly send: <T>(operation: Operation<T>) => Promise<Reply<T>>;
  readonly fired: (path: string, event: WatchEventType) => void;
  /** The server refuses to plant the watches. */
  readonly failed: (error: ZooKeeperError) => void;
}

const longestSetWatches = 128 * 1024;
