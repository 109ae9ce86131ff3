import { LockTimeoutError } from '../client/report/lock-timeout-error.js';
import { abortHubs } from '../support/abort-signal.js';
import { systemClock, type Clock } from '../support/clock.js';
import { refuseOtherCopy } from '../client/package-copy.js';
import { showByJson } from '../support/shown.js';
import { LockHost } from '../client/lock-host.js';
import { expected, expectFunction, expectMethod, expectSignal } from '../support/validate.js';
import { checkAcquireOptions, checkTryOptions, type AcquireOptions } from '../mutex/acquire-options.js';
import { innermostContext, LockContext } from '../mutex/lock-context.js';
import { Hold } from '../mutex/hold.js';
import { MultiHold, releaseAll, type PartHold } from './multi-hold.js';
import { untilReleased } from '../mutex/with-hold.js';
import { compareKeys } from '../driver/names.js';
import { reached } from '../support/reached.js';

/**
 * Several locks as one: all or none, one deadline, and one hold, which is lost when any of them is lost. The locks are
 * acquired in the order of their paths, whatever order the application passes, so that two callers of the same locks
 * never wait for each other forever. Java's InterProcessMultiLock acquires its locks in the order given: pass them in
 * the order of their paths there.
 *
 * @example
 * const from = new InterProcessMutex(client, '/accounts/7');
 * const to = new InterProcessMutex(client, '/accounts/3');
 * const both = new InterProcessMultiLock([from, to]);
 * await both.withLock((hold) => transfer(hold.signal), { timeoutMs: 5_000 });
 */
export class InterProcessMultiLock<Part extends PartHold = PartHold> {
  readonly #locks: readonly PartOfMultiLock<Part>[];
  readonly #holds = new Set<MultiHold<Part>>();
  /** The clients of the locks of this library. */
  readonly #hosts: readonly LockHost[];
  readonly #clock: Clock;

  /**
   * Sends nothing.
   *
   * @param locks at least one, and each path of one client only once. Clients of different ensembles may use the same
   * path; two clients of one ensemble would wait for each other
   * @throws TypeError for an object that is not a lock, or is a lock of another copy of this package
   * @throws RangeError for an empty list, or for a path of one client that occurs twice: the second lock would wait for
   * the first forever; or for a path below another, which the upper lock would refuse as a foreign znode
   * @example
   * const both = new InterProcessMultiLock([mutexA, mutexB]);
   */
  constructor(locks: readonly PartOfMultiLock<Part>[]);
  /** @internal Errors name `paths` if the application has given paths. */ // oxlint-disable-next-line typescript/unified-signatures -- one signature would make the option public
  constructor(locks: readonly PartOfMultiLock<Part>[], option: 'locks' | 'paths');
  constructor(locks: readonly PartOfMultiLock<Part>[], option: 'locks' | 'paths' = 'locks') {
    const given: unknown = locks;
    if (!Array.isArray(given)) throw new TypeError(expected('locks', 'an array of locks', given));
    if (locks.length === 0) throw new RangeError(expected('locks', 'at least one lock', locks));
    for (const [index, lock] of (locks as unknown[]).entries()) {
      expectMethod(`locks[${index}]`, lock, 'acquire');
      const { path } = lock as { path?: unknown };
      if (typeof path !== 'string') throw new TypeError(expected(`locks[${index}].path`, 'a string', path));
      refuseOtherCopy(`The lock ${path}`, (lock as { host?: unknown }).host);
    }
    this.#locks = [...locks];
    this.#hosts = locks.flatMap((lock) => hostOf(lock) ?? []);
    // Locks from elsewhere bring no clock.
    this.#clock = this.#hosts[0]?.clock ?? systemClock;
    const twice = locks.find((lock, index) => locks.slice(index + 1).some((other) => isSame(lock, other)));
    if (twice) throw new RangeError(`${expected(option, `${option} that differ`, twice.path)} twice`);
    for (const lock of locks) {
      // The first acquire would create the lower lock's znode as a child that later acquires of the upper lock refuse.
      // Locks from elsewhere have rules of their own.
      const host = hostOf(lock);
      const upper = locks.find((other) => host && hostOf(other) === host && lock.path.startsWith(`${other.path}/`));
      if (upper)
        throw new RangeError(
          `${expected(option, `${option} of which none is below another`, lock.path)} below "${upper.path}"`,
        );
    }
  }

  /** The paths of its locks, in the order in which they are acquired. */
  get paths(): string[] {
    return this.#locks.map(({ path }) => path).sort();
  }

  /**
   * Waits for all locks, one after the other, with one deadline. If one cannot be acquired, the locks before it are
   * released in reverse order. If one was lost while the call waited for another, the call starts over. A lease begins
   * when all locks are held, and covers all of them; `data` are written into the znode of each.
   *
   * @throws LockTimeoutError after `timeoutMs`, with the name of the lock for which the call waited
   * @throws any other error of the `acquire` of one lock
   * @example
   * await using hold = await both.acquire({ timeoutMs: 5_000 });
   */
  async acquire(options?: AcquireOptions): Promise<MultiHold<Part>> {
    const checked = checkAcquireOptions('acquire', options);
    const deadline = this.#clock.now() + (checked.timeoutMs ?? Infinity);
    for (let round = 0; ; round++) {
      const parts = await this.#acquireAll(checked, deadline, round);
      if (parts) return this.#handOut(parts, checked);
      await this.#pause(Math.min(2 ** round, longestPauseMs, deadline - this.#clock.now()), checked.signal);
    }
  }

  /**
   * Like `acquire`, but resolves with undefined instead of rejecting with LockTimeoutError, also when no server answered;
   * see {@link InterProcessMutex.tryAcquire}.
   *
   * @param options the longest wait in milliseconds, or options; 0, the default, tries each lock once
   * @throws as {@link InterProcessMultiLock.acquire}, except LockTimeoutError
   * @example
   * await using hold = await both.tryAcquire();
   */
  async tryAcquire(options?: number | AcquireOptions): Promise<MultiHold<Part> | undefined> {
    const checked = checkTryOptions(options);
    try {
      return await this.acquire(checked);
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  /**
   * Runs `job` while holding all locks, in a lock context of its own: inside, code can re-enter those of the locks that
   * are re-entrant. The locks are released when the job settles, whatever the outcome. If a hold was lost, the call
   * rejects even though the job fulfilled. A job whose lease ends is not waited for, because it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when a lock was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, because it would be read after the release
   * @throws as {@link InterProcessMultiLock.acquire}; then `job` was not called
   * @example
   * await both.withLock((hold) => transfer(hold.signal), { timeoutMs: 5_000 });
   */
  async withLock<T>(job: (hold: MultiHold<Part>) => T | PromiseLike<T>, options?: AcquireOptions): Promise<T> {
    expectFunction('job', job);
    const checked = checkAcquireOptions('withLock', options);
    const context = new LockContext('lock', innermostContext());
    return new Promise((resolve, reject) => {
      const done = context.run(async () => {
        const hold = await this.acquire(checked);
        // Bypasses the context, which lives until the job settles, and in which the hold is known to be lost by then.
        hold.onExpired(reject);
        return untilReleased(hold, this.paths.join(', '), () => job(hold));
      });
      done.then(resolve, reject);
    });
  }

  /** True while this object holds all locks. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return [...this.#holds].some((hold) => hold.isValid);
  }

  /**
   * Returns what `console.log` and `JSON.stringify` show: the paths, and at most ten holds of this object, with tokens
   * as text.
   */
  toJSON(): object {
    const holds = [...this.#holds].slice(0, mostShown).map((hold) => hold.toJSON());
    return { paths: this.paths, isAcquiredInThisProcess: this.isAcquiredInThisProcess, holds };
  }

  static {
    showByJson(this, 'InterProcessMultiLock');
  }

  #handOut(parts: readonly Part[], options: AcquireOptions): MultiHold<Part> {
    const hold: MultiHold<Part> = new MultiHold(
      parts,
      this.paths.join(', '),
      options,
      this.#clock,
      () => void this.#holds.delete(hold),
    );
    this.#holds.add(hold);
    return hold;
  }

  /** Resolves with undefined when one lock was lost during the wait for another. */
  async #acquireAll(options: AcquireOptions, deadline: number, round: number): Promise<Part[] | undefined> {
    const locks = inOrder(this.#locks);
    const holds: Part[] = [];
    try {
      for (const [index, lock] of locks.entries()) {
        const hold = await acquireOne(lock, options, {
          leftMs: deadline - this.#clock.now(),
          before: locks[index - 1],
          round,
        });
        holds.push(hold);
        expectHold(lock.path, hold);
      }
    } catch (error) {
      if (holds.length > 0) reached('multi-lock: locks given back');
      giveBack(holds);
      throw error;
    }
    if (holds.every((hold) => hold.isValid)) return holds;
    reached('multi-lock: a lock lost while the others were waited for');
    giveBack(holds);
    return undefined;
  }

  /**
   * A lock of your own may give one invalid hold after another, so fast that no timer would run. Ends early when a client
   * closes: then the acquire of its lock rejects.
   */
  #pause(pauseMs: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        for (const stop of stops) stop();
        resolve();
      };
      const look = (): void => this.#hosts.forEach(({ isClosing }) => isClosing && end());
      const stops = [this.#clock.after(Math.max(0, pauseMs), end)];
      for (const { sessions } of this.#hosts) stops.push(sessions.onChange(look));
      if (signal) stops.push(abortHubs.onAbort(signal, reject), abortHubs.onAbort(signal, end));
      look();
    });
  }
}

const longestPauseMs = 1_000;

/** A lock that can be part of an InterProcessMultiLock: a lock of this library, or one of your own. */
export interface PartOfMultiLock<Part extends PartHold = PartHold> {
  /** The place among the other locks, which are acquired in the order of their paths. */
  readonly path: string;
  /** Waits for the lock; rejects with LockTimeoutError after the timeout. */
  acquire(options?: AcquireOptions): Promise<Part>;
}

/** How many holds `toJSON` shows. */
const mostShown = 10;

/**
 * The locks in the order of their paths. Locks of one path are in the order of the servers of their clients, whose text is
 * the same in each process.
 *
 * @throws RangeError if this text is not known yet: with the order of the arguments, two processes could wait for each
 * other
 */
function inOrder<Lock extends PartOfMultiLock>(locks: readonly Lock[]): Lock[] {
  return [...locks].sort((a, b) => {
    const [ofA, ofB] = [hostOf(a)?.address, hostOf(b)?.address];
    if (a.path === b.path && a !== b && (ofA === '' || ofB === ''))
      throw new RangeError(
        expected(
          'locks',
          'clients whose servers are known, because two locks have one path: use LockClient.connect for them',
          `a client of ${a.path} that has not connected yet`,
        ),
      );
    return compareKeys(a.path, b.path) || compareKeys(ofA ?? '', ofB ?? '');
  });
}

/**
 * True for two locks that may be the same. One path of two clients may be two locks of two ensembles. The client of a
 * lock from elsewhere is unknown.
 */
function isSame(a: PartOfMultiLock, b: PartOfMultiLock): boolean {
  const [ofA, ofB] = [hostOf(a), hostOf(b)];
  return a.path === b.path && (ofA === undefined || ofB === undefined || ofA === ofB);
}

function hostOf(lock: PartOfMultiLock): LockHost | undefined {
  const { host } = lock as { host?: unknown };
  return host instanceof LockHost ? host : undefined;
}

async function acquireOne<Part extends PartHold>(
  lock: PartOfMultiLock<Part>,
  { timeoutMs, signal, data, releaseTimeoutMs }: AcquireOptions,
  {
    leftMs,
    before,
    round,
  }: { readonly leftMs: number; readonly before: PartOfMultiLock | undefined; readonly round: number },
): Promise<Part> {
  const common = {
    signal,
    ...(data !== undefined && { data }),
    ...(releaseTimeoutMs !== undefined && { releaseTimeoutMs }),
  };
  if (timeoutMs === undefined) return lock.acquire(common);
  // With a timeout of 0, each lock is tried once.
  if (leftMs <= 0 && (timeoutMs > 0 || round > 0))
    throw new LockTimeoutError(lock.path, timeoutMs, 'acquired', { timeWent: timeWent(before) });
  try {
    return await lock.acquire({ ...common, timeoutMs: Math.max(0, leftMs) });
  } catch (error) {
    // The time left for this lock is not the time that the caller waited.
    throw error instanceof LockTimeoutError ? error.with({}, timeoutMs) : error;
  }
}

/**
 * Checks what a lock from elsewhere has given: a call would take anything else for a hold that was lost, and start over
 * without end.
 */
function expectHold(path: string, given: unknown): void {
  // Its signal is made when it is first read.
  if (given instanceof Hold) return;
  const { isValid, release, signal } = (given ?? {}) as { readonly [Key in keyof PartHold]?: unknown };
  if (typeof isValid !== 'boolean' || typeof release !== 'function')
    throw new TypeError(
      expected(`the result of acquire() of ${path}`, 'a hold with isValid, signal and release()', given),
    );
  expectSignal(`the signal of the hold of ${path}`, signal);
}

/** Says why no time was left for the next lock. */
function timeWent(before: PartOfMultiLock | undefined): string {
  return before === undefined
    ? 'a lock was lost before all of them were held, and no time was left to start over'
    : `the locks before it used up the time, and the call was waiting for ${before.path} when the time was over`;
}

/** Releases in the background, because the call settles at once, and a failed release is not its reason. */
function giveBack(holds: readonly PartHold[]): void {
  releaseAll(holds).catch(() => undefined);
}
