import { remove, setData, type Operation } from '../../zookeeper/wire/operations.js';
import { InvalidPathError, join, parentOf, validatePath } from '../../zookeeper/wire/path.js';
import { checkVersion, createInTransaction } from '../../zookeeper/wire/transaction.js';
import { copyOfData } from '../acquire-options.js';
import { Commit, type Step, type TransactionGuard } from './commit.js';
import {
  checkCreateOptions,
  pathFor,
  versionIn,
  wireModes,
  type CreateOptions,
  type VersionOptions,
} from './transaction-options.js';

/**
 * Operations on znodes that ZooKeeper does all together while the lock is held, or not at all: one transaction on the
 * session of the hold, which first checks that the znode of the hold exists. No other client is granted the lock before
 * that znode is gone, so no write of this transaction comes after the next holder's first one.
 *
 * The methods add operations and send nothing. `commit` sends all of them, once, in one request.
 *
 * @example
 * const [, { version }] = await hold
 *   .transaction()
 *   .create('/orders/42/log-', Buffer.from('shipped'), { mode: 'persistent-sequential' })
 *   .setData('/orders/42', Buffer.from('shipped'), { version: 3 })
 *   .commit();
 */
export class GuardedTransaction<Results extends readonly unknown[] = []> {
  readonly #guard: TransactionGuard;
  readonly #steps: Step[] = [];
  #ephemerals = 0;
  #isCommitted = false;

  /** For {@link Hold.transaction} only. */
  constructor(...library: never);
  /** @internal */
  constructor(guard: TransactionGuard);
  constructor(guard: TransactionGuard) {
    this.#guard = guard;
  }

  /**
   * Creates a znode. Its result is the znode's path, with the number that the server appends in a sequential mode.
   *
   * @param path for a sequential mode the path before the number, which may end in `/`
   * @param data the znode's data, at most 512 KiB; by default empty
   * @throws InvalidPathError for a path that ZooKeeper does not accept, for a child of the lock's own znode, and for one
   * of a semaphore's `leases` and `locks`
   * @throws TypeError or RangeError for data or an option that is not accepted
   */
  create(
    path: string,
    data: Uint8Array = noData,
    options: CreateOptions = {},
  ): GuardedTransaction<[...Results, string]> {
    const { mode, acl, ttlMs } = checkCreateOptions(options);
    const valid = pathFor(mode, path);
    this.#refuseParticipant(valid);
    const { aclFor, entriesOf } = this.#guard.host.options;
    const entries = acl === undefined ? aclFor(valid) : entriesOf(acl);
    const part = createInTransaction(valid, copyOfData(data), entries, wireModes[mode], ttlMs);
    if (mode.startsWith('ephemeral')) this.#ephemerals += 1;
    return this.#add('create', valid, part);
  }

  /**
   * Replaces the data of a znode. Its result has the new version.
   *
   * @param data at most 512 KiB
   * @throws InvalidPathError for a path that ZooKeeper does not accept, for the znodes of the hold and of the other
   * participants, and for the lock's own znode if the lock has `weights`
   * @throws TypeError or RangeError for data or a version that is not accepted
   */
  setData(path: string, data: Uint8Array, options?: VersionOptions): GuardedTransaction<[...Results, WrittenZnode]> {
    const version = versionIn('setData', options);
    const valid = validatePath(path);
    this.#refuseOwn(valid, 'written');
    this.#refuseParticipant(valid);
    this.#refuseClaim(valid);
    return this.#add('setData', valid, written(setData(valid, copyOfData(data), version)));
  }

  /**
   * Deletes a znode without children. It has no result.
   *
   * @throws InvalidPathError for a path that ZooKeeper does not accept, and for the znode of the hold
   * @throws TypeError or RangeError for a version that is not accepted
   */
  delete(path: string, options?: VersionOptions): GuardedTransaction<[...Results, undefined]> {
    const version = versionIn('delete', options);
    const valid = validatePath(path);
    this.#refuseOwn(valid, 'deleted');
    return this.#add('delete', valid, remove(valid, version));
  }

  /**
   * Requires that a znode exists and, with `version`, that its data have that version. It has no result.
   *
   * @throws InvalidPathError for a path that ZooKeeper does not accept
   * @throws TypeError or RangeError for a version that is not accepted
   */
  check(path: string, options?: VersionOptions): GuardedTransaction<[...Results, undefined]> {
    const version = versionIn('check', options);
    const valid = validatePath(path);
    return this.#add('check', valid, checkVersion(valid, version));
  }

  /**
   * Sends all operations in one request, on the session of the hold. While that session has no connection, the call
   * waits for the next one, as long as the hold is valid. Must be called once.
   *
   * @returns the results, in the order of the operations
   * @throws LockLostError when the lock is lost: nothing was done
   * @throws NotOwnedError when the hold was released before the request was sent: nothing was done
   * @throws RequestFailedError when ZooKeeper refuses an operation: nothing was done. `operation` says which one, and
   * `cause` is the ZooKeeperError, such as BAD_VERSION
   * @throws OutcomeUnknownError when the answer is lost: everything was done, or nothing
   * @throws RangeError when the operations are too many, or too long together: nothing was sent
   * @throws TypeError when it was called before
   * @example
   * const [path] = await hold.transaction().create('/jobs/7', Buffer.from('done')).commit();
   */
  async commit(): Promise<Results> {
    this.#requireOpen('commit');
    this.#isCommitted = true;
    const commit = new Commit(this.#guard, this.#steps, this.#ephemerals);
    return (await this.#guard.trace(() => commit.done())) as Results;
  }

  #add<T>(name: Step['name'], path: string, part: Operation<unknown>): GuardedTransaction<[...Results, T]> {
    this.#requireOpen(name);
    this.#steps.push({ name, path, part });
    return this as unknown as GuardedTransaction<[...Results, T]>;
  }

  #requireOpen(call: string): void {
    if (this.#isCommitted)
      throw new TypeError(
        `Expected ${call}() to be called before commit(), got a call after it: a transaction is sent once. Begin another one with hold.transaction()`,
      );
  }

  #refuseOwn(path: string, verb: string): void {
    const why = `it is the znode of the hold, which cannot be ${verb} in a transaction. To give the lock up, call hold.release()`;
    if (this.#guard.paths().includes(path)) throw new InvalidPathError(path, why);
  }

  #refuseParticipant(path: string): void {
    const why = 'the children of the lock’s own znode are its participants. Give the data a znode elsewhere';
    if (this.#guard.queues().includes(parentOf(path))) throw new InvalidPathError(path, why);
  }

  #refuseClaim(path: string): void {
    const why =
      'its data name the holder of the lock, because of the option `weights`. With other data, no client could acquire the lock. Give the data a znode elsewhere';
    if (this.#guard.claims().includes(path)) throw new InvalidPathError(path, why);
  }
}

/** The znodes of a lock whose children are participants: its own and, of a semaphore, the two below it. */
export function queuesOf(lock: string, holder: string): string[] {
  return parentOf(holder) === lock ? [lock] : [lock, join(lock, 'leases'), join(lock, 'locks')];
}

/** The result of {@link GuardedTransaction.setData}. */
export interface WrittenZnode {
  /** The version of the data that were written. */
  readonly version: number;
  /** The number of the transaction. */
  readonly mzxid: bigint;
}

const noData = new Uint8Array(0);

function written(part: Operation<WrittenZnode>): Operation<WrittenZnode> {
  const read: typeof part.read = (from) => {
    const { version, mzxid } = part.read(from);
    return { version, mzxid };
  };
  return { ...part, read };
}
