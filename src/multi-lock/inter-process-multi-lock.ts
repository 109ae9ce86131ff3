import { LockTimeoutError } from '../internals/lock-errors.js';
import { systemClock } from '../support/clock.js';
import { showByJson } from '../support/shown.js';
import { LockClient } from '../client/lock-client.js';
import { expected, expectFunction, expectMethod } from '../support/validate.js';
import { checkAcquireOptions, checkTryOptions, leaseTermsOf, type AcquireOptions } from '../mutex/acquire-options.js';
import type { LeaseTerms } from '../mutex/hold-lease.js';
import { innermostContext, LockContext } from '../mutex/lock-context.js';
import { MultiHold, releaseAll } from './multi-hold.js';
import type { PartHold, PartOfMultiLock } from './part-of-multi-lock.js';
import { untilReleased } from '../mutex/with-hold.js';

/**
 * Several locks as one: all or none, one deadline, and one hold that is lost when any of them is. They are acquired in
 * the order of their paths, whatever
 * order they are given in, so that two who want the same ones never wait for each other for ever. Java's
 * InterProcessMultiLock takes them as they are given: give it
 * the same order.
 *
 * @example
 * const both = new InterProcessMultiLock([new InterProcessMutex(client, '/accounts/7'), new InterProcessMutex(client,
 * '/accounts/3')]);
 * await both.withLock((hold) => transfer(hold.signal), { timeoutMs: 5_000 });
 */
export class InterProcessMultiLock<Part extends PartHold = PartHold> {
  readonly #locks: readonly PartOfMultiLock<Part>[];
  readonly #holds = new Set<MultiHold<Part>>();

  /**
   * Sends nothing.
   *
   * @param locks at least one, and no path of one client twice. Two clients of different ensembles may have the same
   * path; two clients of one ensemble would
   *   wait for each other
   * @throws TypeError for something that is no lock
   * @throws RangeError for no lock at all, or a path of one client that is there twice: the second would wait for the
   * first for ever
   * @example
   * const both = new InterProcessMultiLock([mutexA, mutexB]);
   */
  constructor(locks: readonly PartOfMultiLock<Part>[]) {
    const given: unknown = locks;
    if (!Array.isArray(given)) throw new TypeError(expected('locks', 'an array of locks', given));
    if (locks.length === 0) throw new RangeError(expected('locks', 'at least one lock', 'none'));
    for (const lock of locks as unknown[]) {
      expectMethod('locks', lock, 'acquire');
      const { path } = lock as { path?: unknown };
      if (typeof path !== 'string') throw new TypeError(expected('path', 'a string, in each of the locks', path));
    }
    this.#locks = [...locks].sort(byPlace);
    const twice = locks.find((lock, index) => locks.slice(index + 1).some((other) => isSame(lock, other)));
    if (twice) throw new RangeError(expected('locks', 'locks of different paths', `${twice.path} twice`));
  }

  /** The paths of its locks, in the order in which they are acquired. */
  get paths(): string[] {
    return this.#locks.map(({ path }) => path);
  }

  /**
   * Waits for all locks, one after the other, with one deadline. If one cannot be had, those before it are released in
   * reverse. If one was lost while
   * another was waited for, it starts over. A lease begins when all are held, and is one for all; `data` are written
   * into the znodes of each.
   *
   * @throws LockTimeoutError after `timeoutMs`, naming the lock that was waited for
   * @throws what else the `acquire` of one of them throws
   * @example
   * await using hold = await both.acquire({ timeoutMs: 5_000 });
   */
  async acquire(options?: AcquireOptions): Promise<MultiHold<Part>> {
    const checked = checkAcquireOptions('acquire', options);
    const deadline = systemClock.now() + (checked.timeoutMs ?? Infinity);
    for (;;) {
      const parts = await this.#acquireAll(checked, deadline);
      if (parts) return this.#handOut(parts, leaseTermsOf(checked));
    }
  }

  /**
   * Like `acquire`, but undefined instead of LockTimeoutError.
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
   * Runs `job` while holding all locks, in a lock context of its own: inside, those of them that are re-entrant are.
   * Releases when the job
   * settles, whatever happens. A job that fulfils after a hold was lost rejects all the same. A job whose lease ends is
   * not waited for: it may hang.
   *
   * @returns what `job` returned
   * @throws what `job` throws
   * @throws LockLostError when one was lost before the job fulfilled
   * @throws TypeError when the job returns a stream or an iterator, which would outlive the locks
   * @throws as {@link InterProcessMultiLock.acquire}; `job` is not called then
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
        // Past the context, which lives until the job settles, and knows by then that the hold is lost.
        hold.onExpired(reject);
        return untilReleased(hold, this.paths.join(', '), () => job(hold));
      });
      done.then(resolve, reject);
    });
  }

  /** Whether anybody holds all the locks by this object. Asks no server. */
  get isAcquiredInThisProcess(): boolean {
    return [...this.#holds].some((hold) => hold.isValid);
  }

  /**
   * What `console.log` and `JSON.stringify` show: the paths, and what this object holds, tokens as text. At most ten
   * holds are shown.
   */
  toJSON(): object {
    const holds = [...this.#holds].slice(0, mostShown).map((hold) => hold.toJSON());
    return { paths: this.paths, isAcquiredInThisProcess: this.isAcquiredInThisProcess, holds };
  }

  static {
    showByJson(this, 'InterProcessMultiLock');
  }

  #handOut(parts: readonly Part[], terms: LeaseTerms | undefined): MultiHold<Part> {
    const hold: MultiHold<Part> = new MultiHold(
      parts,
      this.paths.join(', '),
      terms,
      () => void this.#holds.delete(hold),
    );
    this.#holds.add(hold);
    return hold;
  }

  /** Undefined when one was lost while another was waited for. */
  async #acquireAll(options: AcquireOptions, deadline: number): Promise<Part[] | undefined> {
    const holds: Part[] = [];
    try {
      for (const lock of this.#locks) holds.push(await acquireOne(lock, options, deadline));
    } catch (error) {
      giveBack(holds);
      throw error;
    }
    if (holds.every((hold) => hold.isValid)) return holds;
    giveBack(holds);
    return undefined;
  }
}

/** How many holds `toJSON` shows. */
const mostShown = 10;

/** By the path; of one path, by the servers of the client, which each process knows by the same text. */
function byPlace(a: PartOfMultiLock, b: PartOfMultiLock): number {
  return compare(a.path, b.path) || compare(clientOf(a)?.address ?? '', clientOf(b)?.address ?? '');
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** One path of two clients may be two locks of two ensembles. Of a lock of another make nobody knows its client. */
function isSame(a: PartOfMultiLock, b: PartOfMultiLock): boolean {
  const [ofA, ofB] = [clientOf(a), clientOf(b)];
  return a.path === b.path && (ofA === undefined || ofB === undefined || ofA === ofB);
}

function clientOf(lock: PartOfMultiLock): LockClient | undefined {
  const { client } = lock as { client?: unknown };
  return client instanceof LockClient ? client : undefined;
}

async function acquireOne<Part extends PartHold>(
  lock: PartOfMultiLock<Part>,
  { timeoutMs, signal, data }: AcquireOptions,
  deadline: number,
): Promise<Part> {
  const common = data === undefined ? { signal } : { signal, data };
  if (timeoutMs === undefined) return lock.acquire(common);
  const leftMs = Math.max(0, deadline - systemClock.now());
  if (leftMs === 0 && timeoutMs > 0) throw new LockTimeoutError(lock.path, timeoutMs);
  try {
    return await lock.acquire({ ...common, timeoutMs: leftMs });
  } catch (error) {
    // What was left for this one is not what the caller has waited.
    throw error instanceof LockTimeoutError ? error.with({}, timeoutMs) : error;
  }
}

/** In the background: the call settles at once, and a release that fails is not why. */
function giveBack(holds: readonly PartHold[]): void {
  releaseAll(holds).catch(() => undefined);
}
