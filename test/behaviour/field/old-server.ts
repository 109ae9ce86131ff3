import type { Frame, FrameAction } from '../../../lab/proxy/zk-proxy.ts';

/** Turns the request for a session's znodes into one that no server knows, as it is for a server before 3.6. */
export function asOldServer({ from, op, xid }: Frame): FrameAction | undefined {
  if (from !== 'client' || op !== 'getEphemerals') return undefined;
  const request = Buffer.alloc(12);
  request.writeInt32BE(8, 0);
  request.writeInt32BE(xid, 4);
  request.writeInt32BE(9_999, 8);
  return { replaceWith: request };
}
