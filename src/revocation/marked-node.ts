import { InvalidPathError } from '../zookeeper/invalid-path-error.js';
import { requestFailed } from '../internals/refusal.js';
import type { LockClient } from '../client/lock-client.js';
import { exists, getData, remove, setData, type Stat } from '../zookeeper/operations.js';
import { watchZnode } from '../zookeeper/watch-znode.js';
import { isZooKeeperError, whenNoNode, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { dataOf, markIn, type Mark } from '../internals/mark.js';
import type { Deadline } from '../support/deadline.js';
import { RecentData } from '../internals/recent-data.js';
import { shownData } from '../internals/shown-data.js';

/** A participant's znode, whoever created it, that is asked for or taken by a mark in its data. */
export class MarkedNode {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #mark: Mark;

  constructor(client: LockClient, path: string, mark: Mark) {
    this.#client = client;
    this.#path = path;
    this.#mark = mark;
  }

  /**
   * Writes the mark; not into what is no participant, because whoever has taken the wrong path must not overwrite what
   * is there. The client
   * remembers what the mark erases.
   *
   * @throws RequestFailedError when it is not there, or ZooKeeper refuses
   * @throws InvalidPathError when no session owns it
   */
  async mark(deadline: Deadline): Promise<void> {
    const { ephemeralOwner } = await this.#look(deadline).catch(this.#refused);
    if (ephemeralOwner === 0n)
      throw new InvalidPathError(
        this.#path,
        'no session owns this znode, so nobody holds a lock by it. Pass the path of a participant, such as (await mutex.participants())[0].path',
      );
    await this.#write(deadline);
  }

  /** Resolves when it is gone. Writes the mark again where something else has taken its place. */
  async untilGone(deadline: Deadline): Promise<void> {
    for (;;) {
      const news = await this.#news(deadline).catch(this.#refused);
      if (news === 'gone') return;
      if (news === 'overwritten') await this.#write(deadline);
    }
  }

  /** Resolves when it is gone. */
  async delete(deadline: Deadline): Promise<void> {
    await this.#client.ask(remove(this.#path), deadline).catch(whenNoNode(undefined)).catch(this.#refused);
  }

  async #look(deadline: Deadline): Promise<Stat> {
    try {
      const read = await this.#client.ask((session) => {
        session.catchUp(this.#path);
        return session.request(getData(this.#path, false)).then(({ value }) => value);
      }, deadline);
      shownData(this.#client, this.#client.session, { path: this.#path, ...read });
      // Asked for in advance: from here on it is one of those that are kept.
      this.#client.companions.of(RecentData).recall(this.#path, read.stat.czxid);
      return read.stat;
    } catch (error) {
      if (!isZooKeeperError(error, 'NO_AUTH')) throw error;
      // Who may write and not read can ask all the same.
      return this.#client.ask(exists(this.#path), deadline);
    }
  }

  /** Who let go meanwhile needs no mark. */
  async #write(deadline: Deadline): Promise<void> {
    await this.#client
      .ask(setData(this.#path, dataOf(this.#mark)), deadline)
      .catch(whenNoNode(undefined))
      .catch(this.#refused);
  }

  async #news(deadline: Deadline): Promise<'gone' | 'overwritten' | 'look'> {
    const session = await this.#client.whenConnected(deadline);
    return deadline.wait((wake, fail) => {
      const stopWatching = watchZnode(session, this.#path, 'data', {
        found: ({ data }) => {
          if (markIn(data) !== this.#mark) wake('overwritten');
        },
        told: (event) => wake(event === 'deleted' ? 'gone' : 'look'),
        failed: fail,
      });
      const stopListening = session.onChange(() => session.isEnded && wake('look'));
      return () => {
        stopWatching();
        stopListening();
      };
    });
  }

  readonly #refused = (error: unknown): never => {
    if (!(error instanceof ZooKeeperError)) throw error;
    const why = error.is('NO_NODE') ? ', because it is not there' : '';
    throw requestFailed(
      this.#client,
      `${this.#path} cannot be ${this.#mark === 'revoke' ? 'revoked' : 'released by force'}${why}`,
      error,
    );
  };
}
