import { printableJson } from '../../support/printable.js';
import { RequestFailedError, type FailedOperation } from '../../client/report/client-errors.js';
import type { LockHost } from '../../client/lock-host.js';
import { LockLostError } from '../../client/report/lock-lost-error.js';
import { OutcomeUnknownError } from '../../internals/lock-errors.js';
import { refusalAdvice } from '../../internals/refusal.js';
import { expected } from '../../support/validate.js';
import { longestUsual, ZooKeeperError } from '../../zookeeper/wire/zookeeper-error.js';
import { remove, setData, type Operation } from '../../zookeeper/wire/operations.js';
import {
  checkExists,
  checkVersion,
  createInTransaction,
  multi,
  type MultiAnswer,
} from '../../zookeeper/wire/transaction.js';
import { InvalidPathError, join, parentOf, validatePath } from '../../zookeeper/wire/path.js';
import type { Session } from '../../zookeeper/session/session.js';
import { Writer } from '../../zookeeper/wire/wire.js';
import { copyOfData } from '../acquire-options.js';
import {
  checkCreateOptions,
  pathFor,
  versionIn,
  wireModes,
  type CreateOptions,
  type VersionOptions,
} from './transaction-options.js';
import { reached } from '../../support/reached.js';

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
    if (mode.startsWith('ephemeral')) this.#ephemerals += 1;
    return this.#add('create', valid, createInTransaction(valid, copyOfData(data), entries, wireModes[mode], ttlMs));
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
    return this.#guard.trace(() => this.#committed());
  }

  async #committed(): Promise<Results> {
    const paths = this.#guard.paths();
    const request = multi<readonly unknown[]>(...paths.map(checkExists), ...this.#steps.map(({ part }) => part));
    this.#guard.assertValid();
    const bytes = lengthOf(this.#steps.length, request, this.#guard.host.report.onServers(''));
    const answer = await this.#send(request, bytes);
    if (answer.is === 'refused') throw this.#refused(answer, paths);
    this.#countEphemerals();
    return answer.results.slice(paths.length) as unknown as Results;
  }

  async #send(request: Operation<Answer>, bytes: number): Promise<Answer> {
    const { session } = this.#guard;
    let refusedIn: number | undefined;
    for (;;) {
      this.#guard.assertValid();
      await this.#whenConnected(session, refusedIn);
      const sending = new Sending(request, this.#guard);
      try {
        const { value } = await session.request(sending.operation);
        // An error of the session: nothing was done, and the next connection shows whether the session still exists.
        if (value.is === 'done' || !value.error.isRetryable) return value;
        reached('transaction: refused for an error of the session');
        refusedIn = session.epoch;
      } catch (error) {
        if (!(error instanceof ZooKeeperError)) throw error;
        // The server does not serve this client's account, and has not done anything. Another server may serve it.
        if (error.is('SESSION_CLOSED_REQUIRE_SASL_AUTH')) {
          refusedIn = session.epoch;
          continue;
        }
        if (error.isDefinite)
          throw new RequestFailedError(this.#title, error, refusalAdvice(this.#guard.host.options, error));
        // Any other error, such as SESSION_MOVED, does not say that nothing was done.
        if (sending.wasWritten) throw this.#unknown(error, bytes);
      }
    }
  }

  /** Waits for a usable connection, and not for the one that refused, as long as the hold is valid. */
  async #whenConnected(session: Session, refusedIn: number | undefined): Promise<void> {
    const { host, assertValid } = this.#guard;
    while (!session.isConnected || session.epoch === refusedIn) {
      reached('transaction: waits for a connection');
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          stop();
          cancel();
          resolve();
        };
        const stop = session.onChange(wake);
        const cancel = host.clock.after(this.#guard.remainingMs(), wake);
      });
      assertValid();
    }
  }

  #refused(answer: Extract<Answer, { is: 'refused' }>, paths: readonly string[]): Error {
    const at = answer.errors.findIndex((error) => error !== undefined);
    const [step, guardPath] = [this.#steps[at - paths.length], paths[at]];
    const { error } = answer;
    if (guardPath !== undefined && error.is('NO_NODE')) {
      // The servers' answer may be the first news of the loss.
      reached('transaction: refused, because the znode of the hold is gone');
      this.#guard.foundMissing(guardPath);
      return this.#guard.loss() ?? new LockLostError(guardPath, 'node-deleted');
    }
    if (step === undefined) return new RequestFailedError(this.#title, error);
    const operation: FailedOperation = { index: at - paths.length, name: step.name, path: step.path };
    const title = `${this.#title}, because of operation ${operation.index}, ${step.name}(${printableJson(step.path)})`;
    return new RequestFailedError(
      title,
      error,
      adviceOn(error) ?? refusalAdvice(this.#guard.host.options, error),
      operation,
    );
  }

  #unknown(cause: ZooKeeperError, bytes: number): OutcomeUnknownError {
    reached('transaction: outcome unknown');
    this.#countEphemerals();
    const written = this.#steps.filter(({ name }) => name !== 'check').map(({ path }) => path);
    return new OutcomeUnknownError(
      this.#guard.paths().join(', '),
      [...new Set(written)],
      cause,
      bytes > longestUsual ? bytes : 0,
    );
  }

  /** The session has these znodes now, or may have them. */
  #countEphemerals(): void {
    this.#guard.session.znodes += this.#ephemerals;
  }

  get #title(): string {
    return `The transaction of the hold ${this.#guard.paths().join(', ')} was not done`;
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

/** The hold, or the holds of a multi-lock, under which a transaction is done. */
export interface TransactionGuard {
  readonly host: LockHost;
  /** The session of the holds. No other session sends the transaction. */
  readonly session: Session;
  /** The paths of the znodes that must exist. */
  readonly paths: () => readonly string[];
  /** The paths of the znodes whose data name the holders. */
  readonly claims: () => readonly string[];
  /** The paths of the znodes whose children are participants. A lock refuses children of another kind. */
  readonly queues: () => readonly string[];
  /** @throws LockLostError or NotOwnedError */
  readonly assertValid: () => void;
  readonly remainingMs: () => number;
  readonly loss: () => Error | undefined;
  /** Publishes the commit on the tracing channel of transactions. */
  readonly trace: <T>(commit: () => Promise<T>) => Promise<T>;
  /** The servers said that this znode does not exist. */
  readonly foundMissing: (path: string) => void;
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

interface Step {
  readonly name: FailedOperation['name'];
  readonly path: string;
  readonly part: Operation<unknown>;
}

type Answer = MultiAnswer<readonly unknown[]>;

/** One try to send the request. */
class Sending {
  readonly operation: Operation<Answer>;
  /** True if the request was written into the buffer of a connection, so that a server may have got it. */
  wasWritten = false;

  constructor(request: Operation<Answer>, { assertValid }: TransactionGuard) {
    this.operation = {
      ...request,
      // Judged here once more, because a connection that attaches anew keeps the request back. Meanwhile, the hold may
      // have been released, and a sticky lock granted again by the same znode.
      beforeWrite: assertValid,
      write: (to) => {
        this.wasWritten = true;
        return request.write(to);
      },
    };
  }
}

const noData = new Uint8Array(0);

/** The servers' `jute.maxbuffer` is 1,048,575 bytes by default. They close the connection of a longer request. */
const mostBytes = 1_000_000;

const mostOperations = 1_000;

/** @throws RangeError if it is too long to be sent */
function lengthOf(operations: number, request: Operation<unknown>, chroot: string): number {
  if (operations > mostOperations)
    throw new RangeError(expected('operations', `at most ${mostOperations} in one transaction`, operations));
  const writer = new Writer(Buffer.from(chroot));
  request.write(writer);
  const bytes = writer.frame().length;
  if (bytes > mostBytes)
    throw new RangeError(
      `${expected('the transaction', `at most ${mostBytes} bytes together`, bytes)}: the servers close the connection of a longer request (jute.maxbuffer)`,
    );
  return bytes;
}

function written(part: Operation<WrittenZnode>): Operation<WrittenZnode> {
  const read: typeof part.read = (from) => {
    const { version, mzxid } = part.read(from);
    return { version, mzxid };
  };
  return { ...part, read };
}

function adviceOn(error: ZooKeeperError): string | undefined {
  if (error.is('BAD_VERSION')) return 'another client wrote the znode since its version was read. Read it again';
  if (error.is('NODE_EXISTS')) return 'the znode exists already';
  if (error.is('UNIMPLEMENTED') && error.operation === 'createTTL')
    return 'the servers do not allow znodes with a time to live. Start each of them with -Dzookeeper.extendedTypesEnabled=true, or use another `mode`';
  return undefined;
}
