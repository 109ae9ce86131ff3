import type { FrameRule, Op } from './zk-proxy.ts';

/** Turns this request into one that no server knows, as it is for an older server. */
export function asUnknown(request: Op): FrameRule {
  return ({ from, op, xid }) => {
    if (from !== 'client' || op !== request) return undefined;
    const replaceWith = Buffer.alloc(12);
    replaceWith.writeInt32BE(8, 0);
    replaceWith.writeInt32BE(xid, 4);
    replaceWith.writeInt32BE(9_999, 8);
    return { replaceWith };
  };
}
