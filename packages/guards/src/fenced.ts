import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { checkCount, fenceOf, type Fence, type FencedHold, type FencedOptions } from './fence.js';
import { GuardError } from './guard-error.js';

/** A kind of store, as `fenced` sees it. */
export interface Store<Pool, Tx> {
  /** The names of the options of `fenced`. */
  readonly accepts: readonly string[];
  /** The database whose row stays locked while the job runs. Missing for a store that locks none. */
  locksRowsOf?(pool: Pool): unknown;
  /** @throws TypeError unless `pool` is one of this store's library */
  check(pool: Pool): void;
  /** Runs the transaction once: claim, job, `assertValid`, commit. Rejects when nothing was stored. */
  attempt<T>(pool: Pool, fence: Fence, job: Job<Tx, T>): Promise<T>;
  /** True if the store ended the transaction because of others, and a repetition may succeed. */
  isRetryable(error: unknown): boolean;
  /** Creates the guard's table if `error` says that it is missing. Undefined for any other error, which is passed on. */
  createTable?(pool: Pool, fence: Fence, error: unknown): Promise<unknown> | undefined;
  /** The job is synchronous. */
  readonly isSync?: true;
}

/** The work of a transaction. It may run several times: see `retries`. */
export type Job<Tx, T> = (tx: Tx) => T | PromiseLike<T>;

/** One connection of a store, in a transaction that has begun. */
export interface Transaction<Tx> {
  readonly tx: Tx;
  /** @throws StaleTokenError when a later holder has claimed the row */
  claim(): Promise<unknown>;
  /** Takes no more statements, and waits for those that the job has sent. */
  settle?(): Promise<unknown>;
  commit(): Promise<unknown>;
  rollback(): Promise<unknown>;
  /** True if `error` is an answer of the store, so that the transaction was certainly not committed. */
  isAnswer(error: unknown): boolean;
  /** Gives the connection back; closes it when the state of its transaction is unknown. */
  release(isUsable: boolean): void;
}

/** Checks the arguments, and runs the job in a guarded transaction. */
export async function runFenced<Pool, Tx, T>(
  store: Store<Pool, Tx>,
  pool: Pool,
  hold: FencedHold,
  job: Job<Tx, T>,
  options: FencedOptions = {},
): Promise<T> {
  store.check(pool);
  if (typeof job !== 'function') throw new TypeError('Expected the third argument to be the job, a function');
  const fence = fenceOf(hold, options, store.accepts);
  const { retries = 10 } = options;
  checkCount('retries', retries);
  const database = store.locksRowsOf?.(pool);
  if (database === undefined) return attempts(store, pool, fence, job, retries);
  refuseOwnRow(database, fence);
  let last: Running | undefined;
  try {
    return await attempts(
      store,
      pool,
      fence,
      (tx) => runJob((last = runningIn(database, fence)), job, tx, store.isSync),
      retries,
    );
  } finally {
    if (last) last.hasEnded = true;
  }
}

/** Repeats the attempt as often as the store asks for it, while the hold is valid. */
async function attempts<Pool, Tx, T>(
  store: Store<Pool, Tx>,
  pool: Pool,
  fence: Fence,
  job: Job<Tx, T>,
  retries: number,
): Promise<T> {
  let mayCreate = true;
  for (let retry = 0; ;) {
    fence.hold.assertValid();
    try {
      return await store.attempt(pool, fence, job);
    } catch (error) {
      const creation = mayCreate ? store.createTable?.(pool, fence, error) : undefined;
      if (creation) {
        mayCreate = false;
        await unlessLost(fence.hold, creation);
      } else if (store.isRetryable(error) && retry < retries) await backOff(fence.hold, retry++);
      else throw error;
    }
  }
}

/** The jobs that have called the code that runs, the innermost first. */
const jobs = new AsyncLocalStorage<Running>();

interface Running {
  readonly database: unknown;
  readonly fence: Fence;
  outer: Running | undefined;
  hasEnded: boolean;
}

function runningIn(database: unknown, fence: Fence): Running {
  return { database, fence, outer: living(jobs.getStore()), hasEnded: false };
}

/** Removes the jobs that have ended, because each job of a long chain may start the next one. */
function living(running: Running | undefined): Running | undefined {
  if (running?.outer) running.outer = living(running.outer);
  return running?.hasEnded ? running.outer : running;
}

function runJob<Tx, T>(running: Running, job: Job<Tx, T>, tx: Tx, isSync = false): T | PromiseLike<T> {
  let result: T | PromiseLike<T> | undefined;
  try {
    result = jobs.run(running, job, tx);
  } finally {
    // The code that a synchronous job has started runs after its transaction.
    if (isSync || !isPromise(result)) running.hasEnded = true;
  }
  // The promise of a synchronous job is refused, and not waited for: a lazy one, such as a query, would begin.
  if (running.hasEnded || !isPromise(result)) return result;
  return Promise.resolve(result).finally(() => (running.hasEnded = true));
}

export function isPromise<T>(result: T | PromiseLike<T>): result is PromiseLike<T> {
  return typeof (result as { then?: unknown } | undefined)?.then === 'function';
}

/** @throws TypeError for a call that would wait for the row that the job which calls has locked */
function refuseOwnRow(database: unknown, { key, table }: Fence): void {
  for (let each = living(jobs.getStore()); each; each = each.outer)
    if (each.database === database && each.fence.key === key && each.fence.table === table)
      throw new TypeError(
        `Expected the job to leave another \`fenced\` of ${key} out, which would wait for the transaction of the job: pass \`tx\` to the functions that the job calls`,
      );
}

/** One attempt over a network. It ends when the hold is lost, whatever the store does: then nothing may be committed. */
export async function attemptOnce<Tx, T>(
  begin: () => Promise<Transaction<Tx>>,
  { hold }: Fence,
  job: Job<Tx, T>,
): Promise<T> {
  const begun = begin();
  // The pool may have a connection only after the hold was lost.
  const transaction = await unlessLost(hold, begun).catch((error: unknown) => {
    begun.then((late) => late.release(false)).catch(() => undefined);
    throw error;
  });
  let at: 'open' | 'committing' | 'ended' = 'open';
  try {
    await unlessLost(hold, transaction.claim());
    const result = await unlessLost(hold, Promise.resolve(job(transaction.tx)));
    if (transaction.settle) await unlessLost(hold, transaction.settle());
    hold.assertValid();
    at = 'committing';
    await unlessLost(hold, transaction.commit());
    at = 'ended';
    transaction.release(true);
    return result;
  } catch (error) {
    if (at === 'ended') throw error;
    const isUnknown = at === 'committing' && !(error instanceof GuardError || transaction.isAnswer(error));
    // A closed connection is rolled back by the store.
    const isUsable = !isUnknown && hold.isValid && (await isRolledBack(hold, transaction));
    transaction.release(isUsable);
    if (isUnknown)
      throw new GuardError(
        'ERR_LOCK_OUTCOME_UNKNOWN',
        'The commit was sent, and its answer is missing: the store did all of the transaction or nothing of it. Read the data before you repeat it',
        { cause: error },
      );
    throw error;
  }
}

function isRolledBack<Tx>(hold: FencedHold, transaction: Transaction<Tx>): Promise<boolean> {
  return unlessLost(hold, transaction.rollback()).then(
    () => true,
    () => false,
  );
}

/** Settles as `work` does, or rejects with the loss of the hold, whichever comes first. */
function unlessLost<T>({ signal }: FencedHold, work: Promise<T>): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const lost = (): void => reject(signal.reason);
    signal.addEventListener('abort', lost, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', lost));
    if (signal.aborted) lost();
  });
}

/** A random part of 10 ms, then of 20 ms, and so on, so that two writers do not meet again. */
function backOff(hold: FencedHold, retry: number): Promise<unknown> {
  return unlessLost(hold, sleep(Math.random() * Math.min(1_000, 10 * 2 ** retry)));
}
