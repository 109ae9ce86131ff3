import type { Frame, FrameAction, FrameRule, ZkProxy } from '../../harness/zk-proxy.ts';

/** The line of the client under test: what has passed, what the scenario does to it, and where the fault strikes. */
export class Wire {
  readonly proxy: ZkProxy;
  /** The one fault of the case. */
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
   * Whether every request behind the first `past` frames has been answered; those of connections that have ended since
   * never are.
   */
  isQuiet(past: number): boolean {
    const last = this.frames.at(-1)?.connection;
    const frames = this.frames.slice(past).filter(({ connection }) => connection === last);
    return frames.every((frame) => frame.from === 'server' || isAnswered(frame, frames));
  }

  /**
   * Whether the client has asked for a watch on one of these znodes, or any where none is named, behind the first
   * `past` frames, and was answered.
   */
  isWatched(paths: readonly string[], past: number): boolean {
    const frames = this.frames.slice(past);
    const asksFor = ({ op, body, path }: Frame): boolean => {
      if (op === 'getData' || (op === 'getChildren2' && asksToWatch(body)))
        return paths.length === 0 || paths.some((one) => one === path);
      // What was not answered is not asked for again: the watch is told to the next server.
      return op === 'setWatches' && (paths.length === 0 || paths.some((one) => body.includes(one)));
    };
    return frames.some((frame) => frame.from === 'client' && asksFor(frame) && isAnswered(frame, frames));
  }

  /**
   * Does something to the next frame of a kind, which is part of the scenario; where the fault hits that frame, it is
   * the fault that counts.
   */
  once(from: Frame['from'], op: Frame['op'], act: (frame: Frame) => FrameAction): void {
    const rule = (frame: Frame): FrameAction | undefined => {
      if (frame.from !== from || frame.op !== op) return undefined;
      this.#script.delete(rule);
      return act(frame);
    };
    this.#script.add(rule);
  }

  /** As `once`, to the answer of the next request that matches. */
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

  /** Nothing arrives anywhere until then. */
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
