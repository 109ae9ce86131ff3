import type { Frame, FrameAction, ZkProxy } from '../../../support/zk-proxy.ts';

type Match = (frame: Frame) => boolean;

export const sent = (op: Frame['op']): Match => (frame) => frame.from === 'client' && frame.op === op;

export const answered = (op: Frame['op']): Match => (frame) => frame.from === 'server' && frame.op === op;

/** Does something to the first frame that matches, and to no other. */
export function once(proxy: ZkProxy, match: Match, action: FrameAction): void {
  const remove = proxy.on((frame) => {
    if (!match(frame)) return undefined;
    remove();
    return action;
  });
}
