import type { AclEntry, LockClient } from '../../src/index.ts';
import { endSession } from './end-session.ts';
import { isNoNode, PlainClient } from './plain-client.ts';
import { NoAnswerError } from './wire-client.ts';

/**
 * Another client of the same servers, without any code of the library: it can read and change the same as any ZooKeeper
 * client.
 */
export interface Observer extends AsyncDisposable {
  children(path: string): Promise<string[]>;
  /** The children that a session created, with that session's id. */
  ephemerals(path: string): Promise<{ readonly name: string; readonly owner: bigint }[]>;
  exists(path: string): Promise<boolean>;
  create(path: string, acl?: readonly AclEntry[]): Promise<void>;
  /** Changes only the version: clients that watch the znode get an event. */
  touch(path: string): Promise<void>;
  remove(path: string): Promise<void>;
  /** The data of a znode, as text. */
  read(path: string): Promise<string>;
  write(path: string, data: string): Promise<void>;
  /** Ends a client's session on the server, from another connection, as an administrator or an expiry would. */
  endSession(client: LockClient): Promise<void>;
}

const readTries = 3;

/**
 * @param reads `latest` sees all that was answered before, also by another member of an ensemble, and so needs a quorum;
 * `any` may be answered by a member that is cut off
 */
export async function connectObserver(connectString: string, reads: 'latest' | 'any' = 'latest'): Promise<Observer> {
  const observer = new PlainObserver(connectString, reads === 'latest' && connectString.includes(','));
  await observer.connect();
  return observer;
}

class PlainObserver implements Observer {
  readonly #connectString: string;
  readonly #catchesUp: boolean;
  #client: PlainClient | undefined;
  #connecting: Promise<PlainClient> | undefined;

  constructor(connectString: string, catchesUp: boolean) {
    this.#connectString = connectString;
    this.#catchesUp = catchesUp;
  }

  /**
   * Connects again if necessary. An observer creates only persistent znodes, so that a new session serves as well as
   * the old one.
   */
  connect(): Promise<PlainClient> {
    if (this.#client?.isConnected) return Promise.resolve(this.#client);
    this.#connecting ??= this.#open().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  async children(path: string): Promise<string[]> {
    try {
      return await this.#read((client) => client.getChildren(path));
    } catch (error) {
      if (isNoNode(error)) return [];
      throw error;
    }
  }

  async ephemerals(path: string): Promise<{ readonly name: string; readonly owner: bigint }[]> {
    const names = await this.children(path);
    const all = await Promise.all(
      names.map(async (name) => ({
        name,
        owner: (await this.#read((client) => client.exists(`${path}/${name}`)))?.ephemeralOwner ?? 0n,
      })),
    );
    return all.filter(({ owner }) => owner !== 0n);
  }

  async exists(path: string): Promise<boolean> {
    return (await this.#read((client) => client.exists(path))) !== undefined;
  }

  async create(path: string, acl?: readonly AclEntry[]): Promise<void> {
    await (await this.connect()).create(path, acl);
  }

  async touch(path: string): Promise<void> {
    await (await this.connect()).setData(path, Buffer.alloc(0));
  }

  async remove(path: string): Promise<void> {
    await (await this.connect()).remove(path);
  }

  async read(path: string): Promise<string> {
    return (await this.#read((client) => client.getData(path))).toString();
  }

  async write(path: string, data: string): Promise<void> {
    await (await this.connect()).setData(path, Buffer.from(data));
  }

  async endSession(victim: LockClient): Promise<void> {
    const { id, password } = victim.session.connection.identity;
    // A victim that is still connecting has no session yet: with the id 0 the server would open a new one.
    if (id.readBigInt64BE() === 0n) return;
    await endSession(this.#connectString, { sessionId: id.readBigInt64BE(), password });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connecting?.catch(() => undefined);
    await this.#client?.close();
  }

  async #open(): Promise<PlainClient> {
    this.#client = await PlainClient.connect(this.#connectString);
    return this.#client;
  }

  /** Repeats a read after a lost connection. A write is not repeated, because it may have been executed. */
  async #read<T>(ask: (client: PlainClient) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries += 1) {
      try {
        const client = await this.connect();
        if (this.#catchesUp) await client.catchUp();
        return await ask(client);
      } catch (error) {
        if (!(error instanceof NoAnswerError) || tries === readTries) throw error;
      }
    }
  }
}
