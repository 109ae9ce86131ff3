/** The requests that are transactions: creates, deletes, changes and checks. */
const transactions: ReadonlySet<number> = new Set([1, 2, 5, 7, 13, 14, 15, 19, 20, 21]);

/** True if a request among the frames of a client is a transaction. */
export function hasTransaction(frames: Buffer): boolean {
  for (let at = 0; at + 12 <= frames.length; at += 4 + frames.readInt32BE(at))
    if (transactions.has(frames.readInt32BE(at + 8))) return true;
  return false;
}

/** The deletions among the frames of a client, and the requests to remove a watch. */
export function requestsIn(frames: Buffer): Request[] {
  const requests: Request[] = [];
  for (let at = 0; at + 12 <= frames.length; at += 4 + frames.readInt32BE(at)) {
    const type = pathRequests.get(frames.readInt32BE(at + 8));
    if (type === undefined) continue;
    const pathAt = at + 16;
    const path = frames.toString('utf8', pathAt, pathAt + frames.readInt32BE(pathAt - 4));
    requests.push({ xid: frames.readInt32BE(at + 4), type, path });
  }
  return requests;
}

interface Request {
  readonly xid: number;
  readonly type: 'delete' | 'removeWatches';
  readonly path: string;
}

const pathRequests: ReadonlyMap<number, Request['type']> = new Map([
  [2, 'delete'],
  [18, 'removeWatches'],
]);

/** The numbers of the requests that the frames of a server answer. */
export function repliesIn(frames: Buffer): number[] {
  const xids: number[] = [];
  for (let at = 0; at + 8 <= frames.length; at += 4 + frames.readInt32BE(at)) xids.push(frames.readInt32BE(at + 4));
  return xids;
}

/** The session in a server's answer to a ConnectRequest. */
export function sessionIn(answer: Buffer): bigint {
  return answer.readBigInt64BE(12);
}

/** The paths of the znodes whose deletion the frames of a server tell. */
export function deletionsIn(frames: Buffer): string[] {
  const paths: string[] = [];
  for (let at = 0; at + 8 <= frames.length; at += 4 + frames.readInt32BE(at)) {
    if (frames.readInt32BE(at + 4) !== notificationXid || frames.readInt32BE(at + 20) !== deletedType) continue;
    const pathAt = at + 32;
    paths.push(frames.toString('utf8', pathAt, pathAt + frames.readInt32BE(pathAt - 4)));
  }
  return paths;
}

const notificationXid = -1;
const deletedType = 2;
