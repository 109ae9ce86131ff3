import { loseAll, type Holding } from './holding.js';
import { absolute, sync, type Operation } from '../wire/operations.js';
import { check, checkServers } from '../wire/transaction.js';
import type { Reply } from '../wire/replies.js';
import type { ZooKeeperError } from '../wire/zookeeper-error.js';
import { reached } from '../../support/reached.js';

/** The requests by which a session proves that it lives, and that its holds and its next waiters still have their znodes. */
export class Prover {
  readonly #options: ProverOptions;
  /** The waiters' znodes that the next quorum write checks. */
  readonly #toCheck = new Set<Checked>();
  #checkedUpTo = 0;

  constructor(options: ProverOptions) {
    this.#options = options;
  }

  /** The next proof also checks the znode. */
  add(znode: Checked): void {
    this.#toCheck.add(znode);
  }

  /** The connection is lost. The waiters prove the session again on the next connection. */
  forget(): void {
    this.#toCheck.clear();
  }

  /**
   * Checks the holds and the waiters' znodes in quorum writes, and sends a sync on their answers. Calls `written` when
   * the writes were answered, or one of them has failed.
   */
  async prove(written: (isAnswered: boolean) => void): Promise<void> {
    const { request, sent } = this.#options;
    const checks = this.#sendChecks();
    sent();
    let isAnswered = false;
    try {
      await Promise.all(checks);
      isAnswered = true;
    } finally {
      written(isAnswered);
    }
    const synced = request(absolute(sync('/')));
    sent();
    await synced;
  }

  /** At least one quorum write. Each waiter's znode has a transaction of its own, so that no other znode refuses it. */
  #sendChecks(): Promise<void>[] {
    const checks = [...this.#toCheck].map((znode) =>
      this.#check([znode.path], (errors) => {
        if (!errors[0]?.is('NO_NODE')) return;
        reached('a proof found that a waiter has no znode');
        znode.foundMissing();
      }),
    );
    this.#toCheck.clear();
    const holdings = this.#nextToCheck();
    if (holdings.length === 0)
      return checks.length > 0 ? checks : [this.#options.request(checkServers()).then(() => undefined)];
    const ofHolds = this.#check(
      holdings.map((holding) => holding.path),
      (errors) => {
        const deleted = holdings.filter((_, index) => errors[index]?.is('NO_NODE'));
        if (deleted.length > 0) reached('a proof found that a hold has no znode');
        loseAll(deleted, 'node-deleted');
        for (const holding of deleted) holding.foundMissing();
      },
    );
    return [ofHolds, ...checks];
  }

  async #check(
    paths: readonly string[],
    refused: (errors: readonly (ZooKeeperError | undefined)[]) => void,
  ): Promise<void> {
    const { value } = await this.#options.request(check(paths));
    if (value.is === 'refused') refused(value.errors);
  }

  /** At most a hundred holds, and fewer if their paths are long. The next proof checks the next ones. */
  #nextToCheck(): Holding[] {
    const all = [...this.#options.holdings];
    const from = this.#checkedUpTo < all.length ? this.#checkedUpTo : 0;
    let to = from;
    let bytes = 0;
    const chrootBytes = this.#options.chrootBytes();
    for (const { path } of all.slice(from, from + mostChecks)) {
      bytes += chrootBytes + Buffer.byteLength(path);
      if (bytes > mostBytes && to > from) break;
      to += 1;
    }
    this.#checkedUpTo = to;
    return all.slice(from, to);
  }
}

/** The znode of a waiter, which a quorum write checks before the waiter's grant. */
export interface Checked {
  readonly path: string;
  /** The servers say that it does not exist. */
  foundMissing(): void;
}

interface ProverOptions {
  readonly holdings: ReadonlySet<Holding>;
  /** The length of the prefix of every path on the servers. */
  readonly chrootBytes: () => number;
  readonly request: <T>(operation: Operation<T>) => Promise<Reply<T>>;
  /** Requests were sent just now. */
  readonly sent: () => void;
}

const mostChecks = 100;

/** The server closes the connection of a request that is longer than its `jute.maxbuffer`, 1 MB. */
const mostBytes = 500_000;
