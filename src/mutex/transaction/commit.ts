import { RequestFailedError, type FailedOperation } from '../../client/report/client-errors.js';
import type { LockHost } from '../../client/lock-host.js';
import { LockLostError } from '../../client/report/lock-lost-error.js';
import { OutcomeUnknownError } from '../../internals/lock-errors.js';
import { refusalAdvice } from '../../client/report/refusal.js';
import { printableJson } from '../../support/printable.js';
import { reached } from '../../support/reached.js';
import { expected } from '../../support/validate.js';
import type { Operation } from '../../zookeeper/wire/operations.js';
import type { Session } from '../../zookeeper/session/session.js';
import { checkExists, multi, type MultiAnswer } from '../../zookeeper/wire/transaction.js';
import { Writer } from '../../zookeeper/wire/wire.js';
import { longestUsual, ZooKeeperError } from '../../zookeeper/wire/zookeeper-error.js';

/** The commit of one transaction: sends all operations in one request, and finds out what became of them. */
export class Commit {
  readonly #guard: TransactionGuard;
  readonly #steps: readonly Step[];
  readonly #ephemerals: number;

  /** @param ephemerals how many of the operations create an ephemeral znode */
  constructor(guard: TransactionGuard, steps: readonly Step[], ephemerals: number) {
    this.#guard = guard;
    this.#steps = steps;
    this.#ephemerals = ephemerals;
  }

  /** @throws as {@link GuardedTransaction.commit} */
  async done(): Promise<readonly unknown[]> {
    const paths = this.#guard.paths();
    const request = multi<readonly unknown[]>(...paths.map(checkExists), ...this.#steps.map(({ part }) => part));
    this.#guard.assertValid();
    const bytes = lengthOf(this.#steps.length, request, this.#guard.host.report.onServers(''));
    const answer = await this.#send(request, bytes);
    if (answer.is === 'refused') throw this.#refused(answer, paths);
    this.#countEphemerals();
    return answer.results.slice(paths.length);
  }

  async #send(request: Operation<Answer>, bytes: number): Promise<Answer> {
    const { session } = this.#guard;
    let refusedIn: number | undefined;
    for (;;) {
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

/** One operation. */
export interface Step {
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

function adviceOn(error: ZooKeeperError): string | undefined {
  if (error.is('BAD_VERSION')) return 'another client wrote the znode since its version was read. Read it again';
  if (error.is('NODE_EXISTS')) return 'the znode exists already';
  if (error.is('UNIMPLEMENTED') && error.operation === 'createTTL')
    return 'the servers do not allow znodes with a time to live. Start each of them with -Dzookeeper.extendedTypesEnabled=true, or use another `mode`';
  return undefined;
}
