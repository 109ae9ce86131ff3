import { startProxy, type Frame, type FrameAction, type FrameRule, type ZkProxy } from '../../lab/proxy/zk-proxy.ts';

/** The connections of the client under test: the frames that passed, the scripted actions, and the fault. */
export class Wire {
  /** The proxy of each server. */
  readonly proxies: readonly ZkProxy[];
  /** The frames so far, without those that a silence holds back. */
  readonly frames: Frame[] = [];
  /** The sessions of the client under test, each with its password. */
  readonly sessions = new Map<bigint, Buffer>();
  /** The fault of the case. */
  strike: FrameRule = () => undefined;
  readonly #script = new Set<FrameRule>();
  readonly #refused = new Map<Frame, number>();
  #watched = { question: '', is: false };

  static async open(ports: readonly number[]): Promise<Wire> {
    return new Wire(await Promise.all(ports.map(startProxy)));
  }

  private constructor(proxies: readonly ZkProxy[]) {
    this.proxies = proxies;
    for (const [index, proxy] of proxies.entries())
      proxy.on((frame) => this.#judge(index === 0 ? frame : { ...frame, connection: frame.connection + index * 1e6 }));
  }

  get connectString(): string {
    return this.proxies.map(({ connectString }) => connectString).join(',');
  }

  /** The proxy of the only server. */
  get proxy(): ZkProxy {
    return this.proxies[0] as ZkProxy;
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
    // Asked after each event, and most events bring no frame.
    const question = `${past} ${paths.join(' ')} ${this.frames.length}`;
    if (this.#watched.question !== question) this.#watched = { question, is: this.#isWatched(paths, past) };
    return this.#watched.is;
  }

  #isWatched(paths: readonly string[], past: number): boolean {
    const asksFor = ({ op, body, path }: Frame): boolean => {
      if (op === 'getData' || (op === 'getChildren2' && asksToWatch(body)))
        return paths.length === 0 || paths.some((one) => one === path);
      // A watch whose request was not answered is not requested again: the next server gets it with setWatches.
      return op === 'setWatches' && (paths.length === 0 || paths.some((one) => body.includes(one)));
    };
    const frames = this.frames.slice(past);
    return frames.some((frame) => frame.from === 'client' && asksFor(frame) && isAnswered(frame, frames));
  }

  /**
   * Does something to the next frame that matches, as part of the scenario. If the fault happens to the same frame, the
   * fault wins.
   */
  once(matches: (frame: Frame) => boolean, act: (frame: Frame) => FrameAction): void {
    const rule = (frame: Frame): FrameAction | undefined => {
      if (!matches(frame)) return undefined;
      this.#script.delete(rule);
      return act(frame);
    };
    this.#script.add(rule);
  }

  /** As `once`, for the answer to the next request that matches. */
  onceAnswered(matches: (request: Frame) => boolean, act: (frame: Frame) => FrameAction): void {
    let request: Frame | undefined;
    this.once((frame) => {
      if (frame.from === 'client' && matches(frame)) request ??= frame;
      return request !== undefined && isAnswer(request, frame);
    }, act);
  }

  /** The answer to this request will be an error, whatever else happens to it. */
  refuse(request: Frame, error: number): void {
    this.#refused.set(request, error);
  }

  /** Holds the answers of one connection back until the promise settles. */
  holdAnswers(connection: number, until: Promise<void>): void {
    const release = this.proxy.on((frame) =>
      frame.from === 'server' && frame.connection === connection ? { delayUntil: until } : undefined,
    );
    void until.then(release);
  }

  /** The present session. */
  get session(): { readonly id: bigint; readonly password: Buffer } | undefined {
    const last = [...this.sessions].at(-1);
    return last && { id: last[0], password: last[1] };
  }

  #noteSession({ body }: Frame): void {
    const id = body.readBigInt64BE(8);
    // A server that does not know the session answers with 0.
    if (id !== 0n) this.sessions.set(id, body.subarray(20, 36));
  }

  async close(): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
  }

  #judge(frame: Frame): FrameAction | undefined {
    this.frames.push(frame);
    if (frame.op === 'connect' && frame.from === 'server') this.#noteSession(frame);
    let scripted: FrameAction | undefined;
    for (const rule of this.#script) scripted ??= rule(frame);
    const struck = this.strike(frame);
    for (const [request, error] of this.#refused) if (isAnswer(request, frame)) return { replaceError: error };
    if (isDelay(scripted) && isDelay(struck))
      return { delayUntil: Promise.allSettled([scripted.delayUntil, struck.delayUntil]) };
    return struck ?? scripted;
  }
}

export function isAnswer(request: Frame, { from, connection, xid, op }: Frame): boolean {
  return from === 'server' && connection === request.connection && xid === request.xid && op !== 'watch';
}

function isAnswered(request: Frame, frames: readonly Frame[]): boolean {
  return frames.some((frame) => isAnswer(request, frame));
}

function asksToWatch(body: Buffer): boolean {
  return body.at(-1) === 1;
}

function isDelay(action: FrameAction | undefined): action is { readonly delayUntil: Promise<unknown> } {
  return typeof action === 'object' && 'delayUntil' in action;
}
