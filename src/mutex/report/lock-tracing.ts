import { tracingChannel } from 'node:diagnostics_channel';
import type { LockKind } from '../../client/report/lock-event.js';
import { LockLostError, type LossReason } from '../../client/report/lock-lost-error.js';
import { LockTimeoutError } from '../../client/report/lock-timeout-error.js';
import type { ReleaseOutcome } from '../../internals/grant.js';
import type { TimeoutReason } from '../../client/report/timeout-text.js';
import type { Deadline } from '../../support/deadline.js';
import { LockError, type LockErrorCode } from '../../support/lock-error.js';
import { TracedOperation, TracingMessage, type TracingStart } from '../../support/traced-operation.js';
import type { HeldLock, Hold } from '../hold.js';
import { outsideOfLockContexts } from '../lock-context.js';

/** True if somebody listens to the acquires or to the holds. Otherwise nothing is recorded. */
export function isTraced(): boolean {
  return channels.acquire.hasSubscribers || channels.hold.hasSubscribers;
}

/** An acquire begins. Must be called in the same step as the application's call. */
export function traceAcquire(
  { path, kind }: Pick<HeldLock, 'path' | 'kind'>,
  mode: LockMode,
  deadline: Deadline,
): void {
  if (!isTraced()) return;
  const message = new LockTracingMessage({ path, kind, mode });
  acquires.set(deadline, new TracedOperation(channels.acquire, message, outsideOfLockContexts));
}

/** An acquire has to wait. */
export function traceQueued(deadline: Deadline, position: number | undefined): void {
  const message = acquires.get(deadline)?.message;
  if (message) message.position = position ?? message.position;
}

/** An acquire ends without the lock. */
export function traceFailure(deadline: Deadline, outcome: FailedAcquire, durationMs: number, error: unknown): void {
  if (!isTraced()) return;
  acquires.get(deadline)?.end({ outcome, durationMs, reason: reasonOf(error), error });
}

/** An acquire ends with a hold, which begins. */
export function traceHold(hold: Hold, deadline: Deadline, waitedMs: number): void {
  const acquire = acquires.get(deadline);
  if (acquire === undefined) return;
  const { message: acquired } = acquire;
  modes.set(hold, acquired.mode);
  if (!isTraced()) return;
  const { fencingToken, isReentrant, path: znode } = hold;
  // `acquireMany` has one acquire for several holds. Its message is complete with the first of them.
  acquired.fencingToken ??= fencingToken;
  acquired.isReentrant ??= isReentrant;
  acquire.end({ outcome: 'acquired', durationMs: waitedMs });
  const { path, kind, mode, position } = acquired;
  const message = new HoldTracingMessage({ path, kind, mode, position, fencingToken }, isReentrant, znode, waitedMs);
  holds.set(hold, new TracedOperation(channels.hold, message, outsideOfLockContexts));
}

/** A hold ends. */
export function traceHoldEnd(
  hold: Hold,
  outcome: 'released' | 'expired' | 'lost',
  durationMs = 0,
  error?: LockLostError,
): void {
  if (isTraced()) holds.get(hold)?.end({ outcome, durationMs, reason: error?.reason, error });
}

/** A hold is released, until the servers have answered. */
export function traceRelease(hold: Hold, settled: Promise<ReleaseOutcome>): void {
  const { release } = channels;
  if (!release.hasSubscribers) return;
  const end = begun(release, hold, modes.get(hold) ?? (hold.isOfJob ? 'withLock' : 'acquire'));
  void settled.then((outcome) => end(outcome, hold.loss?.reason));
}

/** A transaction of a hold, from its commit to its outcome. Settles as `commit` does. */
export function traceTransaction<T>(hold: Hold, commit: () => Promise<T>): Promise<T> {
  const { transaction } = channels;
  if (!transaction.hasSubscribers) return commit();
  const end = begun(transaction, hold, 'commit');
  const committed = commit();
  committed.then(
    () => end('committed'),
    (error: unknown) => end(outcomeOfTransaction(error), reasonOf(error), error),
  );
  return committed;
}

/** Begins an operation of a hold. Returns the function that ends it. */
function begun(
  channel: (typeof channels)['release'],
  hold: Hold,
  mode: string,
): (outcome: string, reason?: string, error?: unknown) => void {
  const { host, path, kind } = hold.keeper.lock;
  const { fencingToken, isReentrant } = hold;
  const startedAt = host.clock.now();
  const message = new LockTracingMessage({ path, kind, mode, fencingToken }, isReentrant);
  const operation = new TracedOperation(channel, message, outsideOfLockContexts);
  return (outcome, reason, error) =>
    operation.end({ outcome, durationMs: host.clock.now() - startedAt, reason, error });
}

function outcomeOfTransaction(error: unknown): 'refused' | 'lost' | 'unknown' | 'failed' {
  const code = error instanceof LockError ? (error.code as string) : '';
  return outcomesByCode[code] ?? 'failed';
}

const outcomesByCode: Readonly<Record<string, 'refused' | 'lost' | 'unknown'>> = {
  ERR_LOCK_REQUEST_FAILED: 'refused',
  ERR_LOCK_LOST: 'lost',
  ERR_LOCK_OUTCOME_UNKNOWN: 'unknown',
};

function reasonOf(error: unknown): string | undefined {
  if (error instanceof LockTimeoutError || error instanceof LockLostError) return error.reason;
  return error instanceof LockError ? error.code : undefined;
}

/** The call that acquired a lock: `acquireMany` and the mutex of a multi-lock count as `acquire`. */
export type LockMode = 'acquire' | 'tryAcquire' | 'withLock' | 'campaign' | 'lead';

/** The fields of the messages about locks. The same object is passed to each event of one operation. */
export interface LockMessage {
  /** The lock's path, as the application gave it. */
  readonly path: string;
  /** The kind of the lock. */
  readonly kind: LockKind;
  /**
   * The number of participants before the waiter, the holder included, when it queued up; undefined if it did not have to
   * wait, or if its place was not known without an extra request: a waiter right behind another waiter of this process
   * does not know it.
   */
  readonly position: number | undefined;
  /** See `hold.fencingToken`; undefined before the lock is held. A bigint. */
  readonly fencingToken: bigint | undefined;
  /** Milliseconds from the start to the end; undefined until the end. */
  readonly durationMs: number | undefined;
  /** True if the owner already had the lock: then no server was asked. Undefined before that is known. */
  readonly isReentrant: boolean | undefined;
  /** The form for `JSON.stringify`: bigints as text, errors by their code and message. */
  toJSON(): object;
}

/** A message of the channel `zookeeper-fair-lock:acquire`: one acquire, from the call until it settles. */
export interface AcquireMessage extends LockMessage {
  /** The call. */
  readonly mode: LockMode;
  /**
   * Undefined until the end. `timed-out`: its `timeoutMs` has passed, or a try did not get the lock. `aborted`: its signal
   * aborted. `failed`: any other reason.
   */
  readonly outcome: 'acquired' | 'timed-out' | 'aborted' | 'failed' | undefined;
  /**
   * For `timed-out`: the reason of the LockTimeoutError. For `failed`: the code of the LockError, or why the hold was lost
   * that the acquire would have re-entered.
   */
  readonly reason: TimeoutReason | LossReason | LockErrorCode | undefined;
  /** The error that the acquire rejects with; for a `tryAcquire` that resolves with undefined, the LockTimeoutError. */
  readonly error: unknown;
}

/** A message of the channel `zookeeper-fair-lock:hold`: one hold, from the grant to its end. */
export interface HoldMessage extends LockMessage {
  /** The call that acquired the hold. */
  readonly mode: LockMode;
  /** See `hold.fencingToken`. */
  readonly fencingToken: bigint;
  /** See `hold.isReentrant`. */
  readonly isReentrant: boolean;
  /** The hold's znode, as `hold.path`. */
  readonly znode: string;
  /** How long the acquire took, in milliseconds. */
  readonly waitedMs: number;
  /** Undefined until the end. `expired`: its lease has passed. `lost`: it was lost for any other reason. */
  readonly outcome: 'released' | 'expired' | 'lost' | undefined;
  /** The reason of the loss, for a hold that was lost. */
  readonly reason: LossReason | undefined;
  /** The error that the signal of a lost hold aborts with. */
  readonly error: LockLostError | undefined;
}

/** A message of the channel `zookeeper-fair-lock:release`: one release, from the call until the servers have answered. */
export interface ReleaseMessage extends LockMessage {
  /** The call that acquired the hold. */
  readonly mode: LockMode;
  /** See `hold.fencingToken`. */
  readonly fencingToken: bigint;
  /** See `hold.isReentrant`. */
  readonly isReentrant: boolean;
  /** Undefined until the end; then what `hold.release()` resolves with. */
  readonly outcome: ReleaseOutcome | undefined;
  /** The reason of the loss, for a hold that was lost before. */
  readonly reason: LossReason | undefined;
  /** Always undefined: a release does not fail. */
  readonly error: undefined;
}

/** A message of the channel `zookeeper-fair-lock:transaction`: one `commit()`, until it settles. */
export interface TransactionMessage extends LockMessage {
  /** Always `commit`. */
  readonly mode: 'commit';
  /** See `hold.fencingToken`. */
  readonly fencingToken: bigint;
  /** See `hold.isReentrant`. */
  readonly isReentrant: boolean;
  /**
   * Undefined until the end. `refused`: ZooKeeper refused an operation. `lost`: the lock was lost. `unknown`: the answer
   * was lost. `failed`: any other reason.
   */
  readonly outcome: 'committed' | 'refused' | 'lost' | 'unknown' | 'failed' | undefined;
  /** The code of the LockError of a failure, or why the lock was lost. */
  readonly reason: LossReason | LockErrorCode | undefined;
  /** The error that `commit()` rejects with. */
  readonly error: unknown;
}

export type FailedAcquire = Exclude<AcquireMessage['outcome'], 'acquired' | undefined>;

class LockTracingMessage extends TracingMessage {
  isReentrant: boolean | undefined;

  constructor(start: TracingStart, isReentrant?: boolean) {
    super(start);
    this.isReentrant = isReentrant;
  }
}

class HoldTracingMessage extends LockTracingMessage {
  readonly znode: string;
  readonly waitedMs: number;

  constructor(start: TracingStart, isReentrant: boolean, znode: string, waitedMs: number) {
    super(start, isReentrant);
    this.znode = znode;
    this.waitedMs = waitedMs;
  }
}

/**
 * The tracing channels of `node:diagnostics_channel` for locks. Each operation has one message.
 *
 * A subscriber is called in the AsyncLocalStorage stores of the code that acquires, because the parent of a span comes
 * from there. But it is called outside of every lock context, so that it cannot act as the owner of a lock.
 */
const channels = {
  acquire: tracingChannel<unknown, LockTracingMessage>('zookeeper-fair-lock:acquire'),
  hold: tracingChannel<unknown, HoldTracingMessage>('zookeeper-fair-lock:hold'),
  release: tracingChannel<unknown, LockTracingMessage>('zookeeper-fair-lock:release'),
  transaction: tracingChannel<unknown, LockTracingMessage>('zookeeper-fair-lock:transaction'),
};

/** The operations that are recorded. They are empty while nobody subscribes. */
const acquires = new WeakMap<Deadline, TracedOperation<LockTracingMessage>>();
const holds = new WeakMap<Hold, TracedOperation<HoldTracingMessage>>();
/** The calls that acquired the holds. */
const modes = new WeakMap<Hold, string>();
