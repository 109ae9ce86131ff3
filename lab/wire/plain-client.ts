import type { Ticket } from './answer.ts';
import type { RecordReader } from './record.ts';
import { errors } from './opcodes.ts';
import { openAcl, type AclItem, type Request } from './request.ts';
import { NoAnswerError, overTcp, WireClient } from './wire-client.ts';

const sessionTimeoutMs = 20_000;
const connectLimitMs = 15_000;
const answerLimitMs = 10_000;
const closeLimitMs = 1_000;
const betweenRoundsMs = 100;

/** The session to which the client should attach has ended. */
export class ExpiredError extends Error {}

/** The server has refused a request. */
export class RefusedError extends Error {
  readonly code: number;

  constructor({ op }: Request, code: number, name: string) {
    super(`The server refuses ${op}: ${name}`);
    this.code = code;
  }
}

export function isNoNode(error: unknown): boolean {
  return error instanceof RefusedError && error.code === errors.NO_NODE;
}

/** One session at one server of a connect string. It is used until its connection ends. */
export class PlainClient {
  readonly #wire: WireClient;
  readonly #chroot: string;
  readonly #pings: NodeJS.Timeout;

  /** @param ticket attaches to this session instead of opening a new one */
  static async connect(connectString: string, ticket?: Ticket, limitMs = connectLimitMs): Promise<PlainClient> {
    const [, hosts = '', chroot = ''] = /^([^/]*)(.*)$/.exec(connectString) ?? [];
    const until = performance.now() + limitMs;
    const addresses = hosts.split(',').map(addressOf);
    for (;;) {
      for (const { host, port } of addresses) {
        const wire = new WireClient(overTcp(port, host)).connect(sessionTimeoutMs, ticket);
        // A server that keeps silent does not take the time of the others.
        await wire.opened(limitMs / addresses.length).catch(() => undefined);
        if (wire.isOpen) return new PlainClient(wire, chroot);
        wire[Symbol.dispose]();
        if (wire.isRefused) throw new ExpiredError(`The session has expired at ${connectString}`);
      }
      if (performance.now() >= until)
        throw new NoAnswerError(`No server of ${connectString} has answered within ${limitMs} ms`);
      await new Promise((resolve) => setTimeout(resolve, betweenRoundsMs));
    }
  }

  private constructor(wire: WireClient, chroot: string) {
    this.#wire = wire;
    this.#chroot = chroot;
    this.#pings = setInterval(() => this.#ping(), wire.timeoutMs / 3);
  }

  get isConnected(): boolean {
    return this.#wire.isOpen;
  }

  async create(path: string, acl: readonly AclItem[] = openAcl): Promise<void> {
    await this.#ask({ op: 'create', path: this.#at(path), acl });
  }

  async getChildren(path: string): Promise<string[]> {
    return ((await this.#ask({ op: 'getChildren', path: this.#at(path) })).texts() ?? []) as string[];
  }

  /** Resolves with undefined if the znode does not exist. */
  async exists(path: string): Promise<{ readonly ephemeralOwner: bigint; readonly czxid: bigint } | undefined> {
    try {
      const stat = await this.#ask({ op: 'exists', path: this.#at(path) });
      const [czxid] = [stat.long(), stat.long(), stat.long(), stat.long()];
      for (let versions = 0; versions < 3; versions += 1) stat.int();
      return { czxid, ephemeralOwner: stat.long() };
    } catch (error) {
      if (isNoNode(error)) return undefined;
      throw error;
    }
  }

  async getData(path: string): Promise<Buffer> {
    return (await this.#ask({ op: 'getData', path: this.#at(path) })).bytes() ?? Buffer.alloc(0);
  }

  async setData(path: string, data: Buffer): Promise<void> {
    await this.#ask({ op: 'setData', path: this.#at(path), data });
  }

  async remove(path: string): Promise<void> {
    await this.#ask({ op: 'delete', path: this.#at(path) });
  }

  /**
   * Resolves when this connection's member of an ensemble has done all writes that were answered before. A sync is not
   * enough: a deposed leader answers it alone. A transaction needs a quorum, also one that changes nothing.
   */
  async catchUp(): Promise<void> {
    try {
      await this.#ask({ op: 'multi', items: [{ op: 'check', path: this.#at('/') }] });
    } catch (error) {
      // Without its root, the transaction is refused by the quorum all the same.
      if (!isNoNode(error)) throw error;
    }
  }

  /** Ends the session on the server. If the server does not answer, the session expires later. */
  async close(): Promise<void> {
    clearInterval(this.#pings);
    if (this.isConnected) {
      this.#wire.send({ op: 'closeSession' });
      await this.#wire.until(() => false, closeLimitMs).catch(() => undefined);
    }
    this.#wire[Symbol.dispose]();
  }

  async #ask(request: Request): Promise<RecordReader> {
    try {
      const answer = await this.#wire.request(request, answerLimitMs);
      this.#wire.forget(answer);
      if (answer.error !== 0) throw new RefusedError(request, answer.error, answer.result);
      return answer.record();
    } catch (error) {
      // A connection that is half open never ends by itself.
      if (error instanceof NoAnswerError) this.#wire[Symbol.dispose]();
      throw error;
    }
  }

  #ping(): void {
    if (this.isConnected) this.#wire.send({ op: 'ping' });
    else clearInterval(this.#pings);
  }

  #at(path: string): string {
    return path === '/' ? this.#chroot || '/' : this.#chroot + path;
  }
}

function addressOf(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(colon + 1)) };
}
