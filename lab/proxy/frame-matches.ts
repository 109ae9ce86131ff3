import type { Frame, FrameAction, ZkProxy } from './zk-proxy.ts';

type Match = (frame: Frame) => boolean;

export const from =
  (side: Frame['from'], op: Frame['op']): Match =>
  (frame) =>
    frame.from === side && frame.op === op;

export const sent = (op: Frame['op']): Match => from('client', op);

export const answered = (op: Frame['op']): Match => from('server', op);

/** Applies the action to the first frame that matches, and to no other. */
export function once(proxy: ZkProxy, match: Match, action: FrameAction | ((frame: Frame) => FrameAction)): void {
  const remove = proxy.on((frame) => {
    if (!match(frame)) return undefined;
    remove();
    return typeof action === 'function' ? action(frame) : action;
  });
}
