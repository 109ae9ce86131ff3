import { InvalidPathError } from '../zookeeper/wire/path.js';
import { requestFailed } from '../client/report/refusal.js';
import type { LockHost } from '../client/lock-host.js';
import { exists, remove, setData, type Stat } from '../zookeeper/wire/operations.js';
import { watchZnode } from '../zookeeper/session/watches.js';
import { whenNoNode, ZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { dataOf, markIn, type Mark } from '../internals/znode/znode-data.js';
import type { Deadline } from '../support/deadline.js';
import { unownedAdvice } from '../internals/znode/unowned.js';
import { reached } from '../support/reached.js';

/**
 * The znode of a participant of any client, into whose data a mark is written. The mark asks the participant to
 * release, or takes the lock from it.
 */
export class MarkedNode {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #mark: Mark;

  constructor(host: LockHost, path: string, mark: Mark) {
    this.#host = host;
    this.#path = path;
    this.#mark = mark;
  }

  /**
   * Writes the mark, but only into the znode of a participant, because a wrong path must not overwrite other data.
   *
   * @throws RequestFailedError when the znode does not exist, or ZooKeeper refuses
   * @throws InvalidPathError when no session owns the znode
   */
  async mark(deadline: Deadline): Promise<'marked' | 'gone'> {
    const { ephemeralOwner } = await this.#look(deadline).catch(this.#refused);
    if (ephemeralOwner === 0n)
      throw new InvalidPathError(
        this.#path,
        // The name of a participant ends in a number. `participants()` may have given this path.
        /\d{9}$/.test(this.#path)
          ? `no session owns this znode, so no process can release it, and it never goes by itself. ${unownedAdvice(this.#host.report.onServers(this.#path))}`
          : 'no session owns this znode, so no process can release it. Pass the path of a participant, such as (await mutex.participants())[0].path',
      );
    return this.#write(deadline);
  }

  /** Resolves when the znode is deleted. Writes the mark again if other data have replaced it. */
  async untilGone(deadline: Deadline): Promise<void> {
    for (;;) {
      const change = await this.#nextChange(deadline).catch(this.#refused);
      if (change === 'gone') return;
      if (change === 'overwritten' && (await this.#write(deadline)) === 'gone') return;
    }
  }

  /**
   * Deletes the znode. Resolves with `gone` if it did not exist any more. If an answer was lost, the request that was not
   * answered has probably deleted it.
   */
  async delete(deadline: Deadline): Promise<'deleted' | 'gone'> {
    let requests = 0;
    const answer = this.#host.sessions.ask((session) => {
      requests += 1;
      return session.request(remove(this.#path));
    }, deadline);
    const end = await answer.then(() => 'deleted' as const, whenNoNode('gone' as const)).catch(this.#refused);
    if (requests > 1) reached('force: the answer to the delete was lost');
    return requests > 1 ? 'deleted' : end;
  }

  /** Before 3.8.4 and 3.9.2, a client that may write the znode but not read it can still ask whether it exists. */
  #look(deadline: Deadline): Promise<Stat> {
    return this.#host.sessions.ask((session) => {
      session.catchUp(this.#path);
      return session.request(exists(this.#path)).then(({ value }) => value);
    }, deadline);
  }

  /** Writes the mark. A participant that released meanwhile needs none. */
  #write(deadline: Deadline): Promise<'marked' | 'gone'> {
    return this.#host.sessions
      .ask(setData(this.#path, dataOf(this.#mark)), deadline)
      .then(() => 'marked' as const, whenNoNode('gone' as const))
      .catch(this.#refused);
  }

  async #nextChange(deadline: Deadline): Promise<'gone' | 'overwritten' | 'look'> {
    const session = await this.#host.sessions.whenConnected(deadline);
    return deadline.wait((wake, fail) => {
      const stopWatching = watchZnode(session, this.#path, 'data', {
        found: ({ data }) => {
          if (markIn(data) === this.#mark) return;
          reached('force: the mark was overwritten');
          wake('overwritten');
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
    const why = error.is('NO_NODE') ? ', because it does not exist' : '';
    throw requestFailed(
      this.#host.options,
      `${this.#path} cannot be ${this.#mark === 'revoke' ? 'revoked' : 'released by force'}${why}`,
      error,
    );
  };
}
