import zookeeper, { type ConnectionManager } from 'node-zookeeper-client';

export interface Acl {
  readonly permissions: number;
  readonly scheme: string;
  readonly id: string;
}

/** The stat of a znode, with 64-bit numbers as Buffers. */
interface Stat {
  readonly ephemeralOwner: Buffer;
  readonly czxid: Buffer;
}

type Callback<Results extends unknown[]> = (error: Error | null, ...results: Results) => void;

/** The parts of node-zookeeper-client 1.1.3, as published, that are used here. */
interface LibraryClient {
  readonly connectionManager: ConnectionManager & { connectTimeoutHandler?: NodeJS.Timeout };
  connect(): void;
  close(): void;
  once(event: 'connected' | 'disconnected' | 'expired', listener: () => void): this;
  create(path: string, data: Buffer, acl: readonly unknown[], mode: number, callback: Callback<[string]>): void;
  getChildren(path: string, callback: Callback<[string[]]>): void;
  exists(path: string, callback: Callback<[Stat | null]>): void;
  getData(path: string, callback: Callback<[Buffer | null | undefined]>): void;
  setData(path: string, data: Buffer, version: number, callback: Callback<[]>): void;
  remove(path: string, version: number, callback: Callback<[]>): void;
  transaction(): Transaction;
}

interface Transaction {
  check(path: string): this;
  commit(callback: Callback<unknown[]>): void;
}

interface Library {
  createClient(connectString: string, options: object): LibraryClient;
  readonly ACL: new (permissions: number, id: object) => object;
  readonly Id: new (scheme: string, id: string) => object;
  readonly CreateMode: { readonly PERSISTENT: number };
}

// The declaration in src names only the parts that `Connection` uses.
const library = zookeeper as unknown as Library;
const sessionTimeoutMs = 20_000;
const connectLimitMs = 15_000;
const answerLimitMs = 10_000;
const closeLimitMs = 1_000;
const connectionLoss = -4;

export interface Session {
  readonly id: Buffer;
  readonly password: Buffer;
}

/** The session to which the client should attach has ended. */
export class ExpiredError extends Error {}

/** No server has answered the attempt to connect. */
export class NoAnswerError extends Error {}

export function isNoNode(error: unknown): boolean {
  return codeOf(error) === -101;
}

export function isConnectionLoss(error: unknown): boolean {
  return codeOf(error) === connectionLoss;
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/**
 * One session of node-zookeeper-client without any code of this library. It is used until its first disconnection,
 * because node-zookeeper-client is not reliable afterwards: replies that were cut in the middle, requests that are
 * never answered.
 */
export class PlainClient {
  #isConnected = false;
  readonly #client: LibraryClient;

  /** @param session attaches to this session instead of opening a new one */
  static async connect(connectString: string, session?: Session, limitMs = connectLimitMs): Promise<PlainClient> {
    const client = new PlainClient(connectString, session);
    await client.#connect(connectString, limitMs);
    return client;
  }

  private constructor(connectString: string, session: Session | undefined) {
    // With retries, a create that is repeated after a lost reply would return NODE_EXISTS.
    this.#client = library.createClient(connectString, {
      sessionTimeout: sessionTimeoutMs,
      retries: 0,
      ...(session && { sessionId: session.id, sessionPassword: session.password }),
    });
  }

  get isConnected(): boolean {
    return this.#isConnected;
  }

  async create(path: string, acl: readonly Acl[]): Promise<void> {
    const entries = acl.map(({ permissions, scheme, id }) => new library.ACL(permissions, new library.Id(scheme, id)));
    await this.#ask<[string]>((client, callback) =>
      client.create(path, Buffer.alloc(0), entries, library.CreateMode.PERSISTENT, callback),
    );
  }

  async getChildren(path: string): Promise<string[]> {
    const [names] = await this.#ask<[string[]]>((client, callback) => client.getChildren(path, callback));
    return names;
  }

  /** Resolves with undefined if the znode does not exist. */
  async exists(path: string): Promise<{ readonly ephemeralOwner: bigint; readonly czxid: bigint } | undefined> {
    const [stat] = await this.#ask<[Stat | null]>((client, callback) => client.exists(path, callback));
    return stat
      ? { ephemeralOwner: stat.ephemeralOwner.readBigInt64BE(), czxid: stat.czxid.readBigInt64BE() }
      : undefined;
  }

  async getData(path: string): Promise<Buffer> {
    const [data] = await this.#ask<[Buffer | null | undefined]>((client, callback) => client.getData(path, callback));
    return data ?? Buffer.alloc(0);
  }

  async setData(path: string, data: Buffer): Promise<void> {
    await this.#ask<[]>((client, callback) => client.setData(path, data, -1, callback));
  }

  async remove(path: string): Promise<void> {
    await this.#ask<[]>((client, callback) => client.remove(path, -1, callback));
  }

  /** Resolves when this connection's member of an ensemble has done all writes that were answered before. */
  async catchUp(): Promise<void> {
    try {
      // A transaction that changes nothing, because node-zookeeper-client has no sync.
      await this.#ask<unknown[]>((client, callback) => client.transaction().check('/').commit(callback));
    } catch (error) {
      // Without `/`, the transaction is refused by the quorum all the same.
      if (!isNoNode(error)) throw error;
    }
  }

  /** Ends the session on the server. If the server does not answer, the session expires later. */
  async close(): Promise<void> {
    // node-zookeeper-client throws, or opens the session again, if it is closed without a connection.
    if (!this.#isConnected) return;
    const closed = new Promise<void>((resolve) => this.#client.once('disconnected', resolve));
    const timer = setTimeout(() => this.#destroy(), closeLimitMs);
    this.#client.close();
    await closed;
    clearTimeout(timer);
  }

  async #connect(connectString: string, limitMs: number): Promise<void> {
    const client = this.#client;
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        client.once('connected', resolve);
        client.once('expired', () => reject(new ExpiredError(`The session has expired at ${connectString}`)));
        timer = setTimeout(
          () => reject(new NoAnswerError(`No server of ${connectString} has answered within ${limitMs} ms`)),
          limitMs,
        );
        client.connect();
      });
    } catch (error) {
      this.#destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    this.#isConnected = true;
    client.once('disconnected', () => this.#destroy());
  }

  #ask<Results extends unknown[]>(
    request: (client: LibraryClient, callback: Callback<Results>) => void,
  ): Promise<Results> {
    return new Promise((resolve, reject) => {
      // node-zookeeper-client never notices a half-open connection.
      const timer = setTimeout(() => {
        this.#destroy();
        reject(Object.assign(new Error(`No answer within ${answerLimitMs} ms`), { code: connectionLoss }));
      }, answerLimitMs);
      const settle = (error: Error | null, ...results: Results): void => {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(results);
      };
      try {
        request(this.#client, settle);
      } catch (error) {
        clearTimeout(timer);
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
  }

  /** Keeps node-zookeeper-client from connecting again, which it would do without a limit. */
  #destroy(): void {
    this.#isConnected = false;
    const manager = this.#client.connectionManager;
    manager.connect = () => undefined;
    manager.onSocketConnected = () => void manager.socket?.destroy();
    clearTimeout(manager.connectTimeoutHandler);
    manager.socket?.destroy();
  }
}
