import type { LockHost } from '../client/lock-host.js';
import { ChangeWatch } from '../internals/change-watch.js';
import { readParticipant, type Participant } from '../internals/participants.js';
import type { OrderedQueue } from '../internals/ordered-queue.js';
import { refused } from '../client/report/refusal.js';
import type { Deadline } from '../support/deadline.js';
import { join } from '../zookeeper/wire/path.js';
import type { Session } from '../zookeeper/session/session.js';

/**
 * Reads the leader of an election, and learns when there may be another one. While there is a leader, it watches only
 * the leader's znode: candidates that come and go wake no observer.
 */
export class LeaderWatch {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #kind: OrderedQueue;
  readonly #watch: ChangeWatch;

  constructor(host: LockHost, path: string, kind: OrderedQueue, deadline: Deadline) {
    this.#host = host;
    this.#path = path;
    this.#kind = kind;
    this.#watch = new ChangeWatch(host, path, deadline);
  }

  /** Waits for a change since the last look. Resolves with the leader at that time. */
  look(): Promise<Participant | undefined> {
    return this.#watch
      .next((session) => this.#read(session))
      .catch(refused(this.#host.options, `The leader of ${this.#path} cannot be observed`));
  }

  close(): void {
    this.#watch.close();
  }

  async #read(session: Session): Promise<Participant | undefined> {
    for (;;) {
      const { holder } = await this.#kind.read(session);
      if (holder === undefined) {
        if (await this.#isEmpty(session)) return undefined;
        continue;
      }
      // Watched before its data are read: a leader that leaves after this has left an event.
      if ((await this.#watch.watch(session, join(this.#path, holder), 'data')) === undefined) continue;
      const leader = await readParticipant(session, this.#path, holder, this.#kind.describe(holder));
      if (leader) return leader;
    }
  }

  /** True if no candidate has come since the queue was read. Then the next one causes an event. */
  async #isEmpty(session: Session): Promise<boolean> {
    const names = await this.#watch.watch(session, this.#path, 'children');
    if (names) return names.length === 0;
    return (await this.#watch.watch(session, this.#path, 'creation')) === undefined;
  }
}
