import type { Frame, FrameAction, FrameRule, ZkProxy } from '../../lab/proxy/zk-proxy.ts';

/** The connection of the client under test: the frames that passed, the scripted actions, and the fault. */
export class Wire {
  readonly proxy: ZkProxy;
  /** The fault of the case. */
  strike: FrameRule = () => undefined;
  readonly #script = new Set<FrameRule>();
  #freezes = 0;

  constructor(proxy: ZkProxy) {
    this.proxy = proxy;
    proxy.on((frame) => this.#judge(frame));
  }

  get frames(): readonly Frame[] {
    return this.proxy.frames;
  }

  get isFrozen(): boolean {
    return this.#freezes > 0;
  }

  saw(from: Frame['from'], op: Frame['op']): number {
    return this.frames.filter((frame) => frame.from === from && frame.op === op).length;
  }

  /**
   * True if every request after the first `past` frames has been answered. Requests on connections that have ended
   * since do not count, because they are never answered.
   */
  isQuiet(past: number): boolean {
    const last = this.frames.at(-1)?.connection;
    const frames = this.frames.slice(past).filter(({ connection }) => connection === last);
    return frames.every((frame) => frame.from === 'server' || isAnswered(frame, frames));
  }

  /**
   * True if the client has asked, after the first `past` frames, for a watch on one of these znodes, or on any znode if
   * none is given, and got an answer.
   */
  isWatched(paths: readonly string[], past: number): boolean {
    const frames = this.frames.slice(past);
    const asksFor = ({ op, body, path }: Frame): boolean => {
      if (op === 'getData' || (op === 'getChildren2' && asksToWatch(body)))
        return paths.length === 0 || paths.some((one) => one === path);
      // A watch whose request was not answered is not requested again: the next server gets it with setWatches.
      return op === 'setWatches' && (paths.length === 0 || paths.some((one) => body.includes(one)));
    };
    return frames.some((frame) => frame.from === 'client' && asksFor(frame) && isAnswered(frame, frames));
  }

  /**
   * Does something to the next frame of a kind, as part of the scenario. If the fault happens to the same frame, the
   * fault wins.
   */
  once(from: Frame['from'], op: Frame['op'], act: (frame: Frame) => FrameAction): void {
    const rule = (frame: Frame): FrameAction | undefined => {
      if (frame.from !== from || frame.op !== op) return undefined;
      this.#script.delete(rule);
      return act(frame);
    };
    this.#script.add(rule);
  }

  /** Like `once`, for the answer to the next request that matches. */
  onceAnswered(matches: (request: Frame) => boolean, act: (frame: Frame) => FrameAction): void {
    let request: Frame | undefined;
    const rule = (frame: Frame): FrameAction | undefined => {
      if (frame.from === 'client' && matches(frame)) request ??= frame;
      if (!request || !isAnswered(request, [frame])) return undefined;
      this.#script.delete(rule);
      return act(frame);
    };
    this.#script.add(rule);
  }

  /** No frame arrives anywhere until the promise settles. */
  freeze(until: Promise<void>): void {
    this.#freezes += 1;
    const thaw = this.proxy.on(() => ({ delayUntil: until }));
    void until.then(() => {
      this.#freezes -= 1;
      thaw();
    });
  }

  #judge(frame: Frame): FrameAction | undefined {
    let scripted: FrameAction | undefined;
    for (const rule of this.#script) scripted ??= rule(frame);
    const struck = this.strike(frame);
    if (isDelay(scripted) && isDelay(struck))
      return { delayUntil: Promise.allSettled([scripted.delayUntil, struck.delayUntil]) };
    return struck ?? scripted;
  }
}

export function isAnswered(request: Frame, frames: readonly Frame[]): boolean {
  return frames.some(
    ({ from, connection, xid }) => from === 'server' && connection === request.connection && xid === request.xid,
  );
}

function asksToWatch(body: Buffer): boolean {
  return body.at(-1) === 1;
}

function isDelay(action: FrameAction | undefined): action is { readonly delayUntil: Promise<unknown> } {
  return typeof action === 'object' && 'delayUntil' in action;
}
