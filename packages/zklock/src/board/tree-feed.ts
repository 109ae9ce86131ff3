import type { CancelTimer, Clock } from '../../../../src/support/clock.js';
import {
  addRecursiveWatch,
  exists,
  getChildList,
  getData,
  removeRecursiveWatch,
  type Operation,
  type Stat,
} from '../../../../src/zookeeper/wire/operations.js';
import type { Session } from '../../../../src/zookeeper/session/session.js';
import type { WatchEvent } from '../../../../src/zookeeper/session/watches.js';
import { isRetryable, isZooKeeperError } from '../../../../src/zookeeper/wire/zookeeper-error.js';

/**
 * The questions about a tree of znodes on one connection, and the events of its watches. One recursive watch covers the
 * tree if the server has it (ZooKeeper 3.6). Otherwise each question plants a watch of its own, for one event.
 *
 * Each list plants a watch of the children also beside a recursive watch, because servers withhold the events of a child
 * that this client may not read (CVE-2024-23944), but not the event of its parent. Servers keep the modes of watches for
 * data and for children apart, so this watch does not end the recursive one (ZOOKEEPER-4466).
 *
 * One connection delivers events and answers in the order in which the server made them. So an event that arrives after
 * an answer is newer than the answer.
 */
export class TreeFeed {
  readonly #session: Session;
  readonly #clock: Clock;
  readonly #epoch: number;
  readonly #root: string;
  readonly #reader: TreeReader;
  readonly #withoutRecursion: Set<string>;
  readonly #stopListening: () => void;
  /** Questions that wait for a free place, by a text that names each. */
  readonly #waiting = new Map<string, () => Promise<void>>();
  /** Znodes whose children have changed since their last list. */
  readonly #outdated = new Set<string>();
  /** The number of lists that a server has time for. */
  #room = listsATick;
  #roomAt: number;
  #cancelTick: CancelTimer | undefined;
  #asked = 0;
  #watches: 'recursive' | 'once' = 'once';
  #state: 'starting' | 'reading' | 'live' | 'ended' = 'starting';
  #cancelStart: CancelTimer = () => {};

  /**
   * @param withoutRecursion the servers that have refused a recursive watch, as `host:port`. This feed adds its own
   */
  constructor({ session, clock }: FeedSource, root: string, reader: TreeReader, withoutRecursion: Set<string>) {
    this.#session = session;
    this.#clock = clock;
    this.#epoch = session.epoch;
    this.#roomAt = clock.now();
    this.#root = root;
    this.#reader = reader;
    this.#withoutRecursion = withoutRecursion;
    this.#stopListening = session.watches.onEvent((event) => this.#happened(event));
    void this.#start();
  }

  /** True if the feed's connection is the client's present one. */
  serves(session: Session): boolean {
    return session === this.#session && session.isConnected && session.epoch === this.#epoch;
  }

  get isRecursive(): boolean {
    return this.#watches === 'recursive';
  }

  /** Reports nothing any more. */
  end(): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#cancelStart();
    this.#cancelTick?.();
    this.#stopListening();
    this.#waiting.clear();
    this.#outdated.clear();
    if (this.isRecursive && this.serves(this.#session))
      void this.#session.request(removeRecursiveWatch(this.#root)).catch(ignore);
  }

  /** Asks for the names of a znode's children. */
  list(path: string): void {
    this.#outdated.delete(path);
    this.#ask(`list ${path}`, getChildList(path, true), {
      answered: ({ names, pzxid }) => {
        this.#room -= names.length / namesAList;
        this.#reader.listed(path, names, pzxid);
      },
      absent: () => this.#absent(path),
      refused: (error) => this.#reader.refused(path, error),
    });
  }

  /** Asks for a znode's data. */
  read(path: string): void {
    this.#ask(`read ${path}`, getData(path, !this.isRecursive), {
      answered: ({ data, stat }) => this.#reader.read(path, data, stat),
      // Its deletion is, or will be, reported by the list of its parent.
      absent: ignore,
      refused: (error) => this.#reader.refused(path, error),
    });
  }

  async #start(): Promise<void> {
    const { server } = this.#session.connection;
    // A server that lags behind would show locks that do not exist any more.
    this.#session.catchUp(this.#root);
    if (!this.#withoutRecursion.has(server)) {
      try {
        // Alone, because a server that does not know the request closes the connection with all that follows.
        await this.#session.request(addRecursiveWatch(this.#root));
        this.#watches = 'recursive';
      } catch (error) {
        if (isRetryable(error)) return;
        if (isZooKeeperError(error, 'UNIMPLEMENTED')) {
          this.#withoutRecursion.add(server);
          // The server closes the connection, and then the next feed begins. It may answer one more request before.
          this.#cancelStart = this.#clock.after(closingMs, () => this.#readAll());
          return;
        }
      }
    }
    this.#readAll();
  }

  #readAll(): void {
    if (this.#isEnded) return;
    this.#state = 'reading';
    this.list(this.#root);
  }

  get #isEnded(): boolean {
    return this.#state === 'ended';
  }

  #happened({ path, type }: WatchEvent): void {
    if (path !== this.#root && !path.startsWith(this.#root === '/' ? '/' : `${this.#root}/`)) return;
    if (type === 'children') this.#childrenChanged(path);
    else if (type === 'changed') this.#reader.changed(path);
    else if (type === 'deleted') this.#reader.deleted(path);
    else this.#reader.created(path);
    if (path !== this.#root) return;
    // Nothing watches its children yet.
    if (type === 'created') this.list(path);
    else if (type === 'deleted' && !this.isRecursive) this.#absent(path);
  }

  /**
   * Beside a recursive watch, most lists show nothing new. So they are limited: a hand-over in each of ten thousand locks
   * costs a server no more than a thousand lists a second.
   */
  #childrenChanged(path: string): void {
    if (!this.isRecursive) {
      this.list(path);
      return;
    }
    this.#outdated.add(path);
    if (!this.#cancelTick) this.#tick();
  }

  #tick(): void {
    const now = this.#clock.now();
    this.#room = Math.min(listsATick, this.#room + ((now - this.#roomAt) / tickMs) * listsATick);
    this.#roomAt = now;
    for (const path of this.#outdated) {
      if (this.#room <= 0) break;
      this.#room -= 1;
      this.list(path);
    }
    this.#cancelTick = this.#clock.after(tickMs, () => {
      this.#cancelTick = undefined;
      if (this.#outdated.size > 0) this.#tick();
    });
  }

  /** Without a recursive watch, only a watch of `exists` reports the creation of the root. */
  #absent(path: string): void {
    this.#reader.deleted(path);
    if (path !== this.#root || this.isRecursive) return;
    this.#ask(`exists ${path}`, exists(path, true), {
      answered: () => this.list(path),
      absent: ignore,
      refused: (error) => this.#reader.refused(path, error),
    });
  }

  /** A question that was not sent yet is not asked twice. One that was sent may be answered with older content. */
  #ask<T>(name: string, operation: Operation<T>, outcome: Outcome<T>): void {
    if (this.#isEnded) return;
    // Not when the promise settles: an event that arrives in one packet with the answer would be handled before it.
    const read: Operation<T>['read'] = (from) => {
      const value = operation.read(from);
      if (!this.#isEnded) outcome.answered(value);
      return value;
    };
    this.#waiting.set(name, async () => {
      try {
        await this.#session.request({ ...operation, read });
      } catch (error) {
        // The next connection's feed reads all again.
        if (this.#isEnded || isRetryable(error)) return;
        if (isZooKeeperError(error, 'NO_NODE')) outcome.absent();
        else outcome.refused(error);
      }
    });
    this.#send();
  }

  #send(): void {
    for (const [name, question] of this.#waiting) {
      if (this.#asked >= mostAtOnce) return;
      this.#waiting.delete(name);
      this.#asked += 1;
      void question().finally(() => {
        this.#asked -= 1;
        this.#send();
        this.#lookForEnd();
      });
    }
  }

  /** All has been read once when no question is left. */
  #lookForEnd(): void {
    if (this.#state !== 'reading' || this.#asked > 0 || !this.serves(this.#session)) return;
    this.#state = 'live';
    this.#reader.complete();
  }
}

/** The connection of a feed, and the client's clock. */
export interface FeedSource {
  readonly session: Session;
  readonly clock: Clock;
}

/** The receiver of what a feed learns. */
export interface TreeReader {
  /** @param pzxid the transaction that created or deleted a child last */
  listed(path: string, names: readonly string[], pzxid: bigint): void;
  read(path: string, data: Buffer, stat: Stat): void;
  created(path: string): void;
  changed(path: string): void;
  deleted(path: string): void;
  /** The servers refused to show a znode. */
  refused(path: string, error: unknown): void;
  /** Everything has been read once; from now on only changes are reported. */
  complete(): void;
}

interface Outcome<T> {
  answered(value: T): void;
  absent(): void;
  refused(error: unknown): void;
}

/** Enough to keep a server busy, and few enough to leave it time for its other clients. */
const mostAtOnce = 64;

const tickMs = 50;

const listsATick = 50;

/** The number of names that are as expensive as one more list. */
const namesAList = 10;

/** More than a server needs to close a connection. */
const closingMs = 1_000;

function ignore(): void {
  // Nothing is missing then.
}
