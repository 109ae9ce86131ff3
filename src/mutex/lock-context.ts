import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold } from './hold.js';

/**
 * The owner of a lock in JavaScript, as a thread is in Java: the code that runs inside one function. Ownership follows
 * the structure of the code, so it never depends on luck. `AsyncLocalStorage.enterWith` is not used: it would mark the
 * caller's flow too, and the next job of that flow would enter the critical section.
 */
export class LockContext {
  #kind: ContextKind;
  #parent: LockContext | undefined;
  /** The holds of this context by the key of the lock, the latest last. */
  readonly #holds = new Map<string, Set<Hold>>();
  /** The first acquires of this context that are still under way, by the key of the lock. */
  readonly #pending = new Map<string, Promise<unknown>>();
  #isLive = true;

  constructor(kind: ContextKind, parent: LockContext | undefined) {
    this.#kind = kind;
    this.#parent = parent;
    this.#forgetDead();
  }

  get isLive(): boolean {
    return this.#isLive;
  }

  /** This context and the live contexts around it that belong to the same owner, the innermost first. */
  *owners(): Generator<LockContext> {
    if (this.#isLive) yield this;
    for (let context = this.#aroundOfSameOwner(); context; context = context.#aroundOfSameOwner()) yield context;
  }

  /** All live contexts that wait for this one to end, those of other owners included. */
  *waitingForIt(): Generator<LockContext> {
    if (this.#isLive) yield this;
    for (let context = this.#aroundThatWaits(); context; context = context.#aroundThatWaits()) yield context;
  }

  add(key: string, hold: Hold): void {
    const holds = this.#holds.get(key);
    if (holds) holds.add(hold);
    else this.#holds.set(key, new Set([hold]));
  }

  delete(key: string, hold: Hold): void {
    const holds = this.#holds.get(key);
    holds?.delete(hold);
    if (holds?.size === 0) this.#holds.delete(key);
  }

  /**
   * The latest unreleased hold of a lock that is not lost. If all are lost, the latest: a lease may have ended only an
   * inner hold.
   */
  holdOf(key: string): Hold | undefined {
    const holds = this.holdsOf(key);
    return holds.findLast((hold) => hold.loss === undefined) ?? holds.at(-1);
  }

  /** All unreleased holds of a lock, the oldest first. */
  holdsOf(key: string): Hold[] {
    return [...(this.#holds.get(key) ?? [])];
  }

  *allHolds(): Generator<Hold> {
    for (const holds of this.#holds.values()) yield* holds;
  }

  pendingOf(key: string): Promise<unknown> | undefined {
    return this.#pending.get(key);
  }

  /** Other acquires of the same lock in this context wait for `acquiring` instead of queueing behind it. */
  async first<T>(key: string, acquiring: Promise<T>): Promise<T> {
    this.#pending.set(key, acquiring);
    try {
      return await acquiring;
    } finally {
      this.#pending.delete(key);
    }
  }

  /** Runs `fn` in this context. The context dies when `fn` settles: work that outlives it is outside of it. */
  run<T>(fn: () => T): T {
    storage ??= new AsyncLocalStorage<LockContext | undefined>();
    return storage.run(this, () => this.#follow(fn));
  }

  #follow<T>(fn: () => T): T {
    let result: T;
    try {
      result = fn();
    } catch (error) {
      this.#isLive = false;
      throw error;
    }
    if (isThenable(result)) return this.#untilSettled(result) as T;
    this.#isLive = false;
    return result;
  }

  /**
   * The promise that the caller gets instead of the thenable. A second `then` would start a lazy thenable, such as a
   * query, twice, and would mark its rejection as handled although nobody handles it.
   */
  async #untilSettled<T>(result: PromiseLike<T>): Promise<T> {
    try {
      return await result;
    } finally {
      this.#isLive = false;
    }
  }

  /**
   * Removes dead parents. Overlapping jobs, each started by the one before, die while the jobs that they started go on.
   */
  #forgetDead(): void {
    let context = this.#around();
    while (context) context = context.#around();
  }

  #aroundOfSameOwner(): LockContext | undefined {
    const around = this.#around();
    return this.#kind === 'lock' ? around : undefined;
  }

  #aroundThatWaits(): LockContext | undefined {
    const around = this.#around();
    return this.#kind === 'event' ? undefined : around;
  }

  /**
   * The nearest live context around this one. Dead contexts are removed, not only skipped: a job that schedules the
   * next one would otherwise keep every earlier job in memory.
   */
  #around(): LockContext | undefined {
    while (this.#parent && !this.#parent.#isLive) {
      // The context around a dead job still belongs to another owner, and the context around a dead event does not
      // wait.
      if (this.#parent.#kind === 'event' || this.#kind === 'lock') this.#kind = this.#parent.#kind;
      this.#parent = this.#parent.#parent;
    }
    return this.#parent;
  }
}

/**
 * The kinds of context:
 * - `lock`: opened by `withLock`. It belongs to the owner around it while that context lives.
 * - `job`: opened by `lockContext.run`. It is a new owner, and the code around it waits for it.
 * - `event`: one call of a function that `lockContext.bind` made. It is a new owner, and the code around it does not
 *   wait for it, because an emitter drops what a handler returns.
 */
export type ContextKind = 'lock' | 'job' | 'event';

/** Created when a context is first used, because on Node 20 it makes every await of the process slower. */
let storage: AsyncLocalStorage<LockContext | undefined> | undefined;

/** The innermost context of the running code, live or dead. */
export function innermostContext(): LockContext | undefined {
  return storage?.getStore();
}

/** Runs `run` outside of every lock context, but in the application's own AsyncLocalStorage stores. */
export function outsideOfLockContexts<T>(run: () => T): T {
  return storage?.getStore() === undefined ? run() : storage.run(undefined, run);
}

/** The context that owns what the running code acquires; undefined outside of every live context. */
export function currentContext(): LockContext | undefined {
  for (const context of innermostContext()?.owners() ?? []) return context;
  return undefined;
}

/**
 * Declares which code is one owner, as one thread is in Java. `mutex.withLock(job)` opens a context by itself; these
 * functions are for plain `acquire()` and `release()`.
 */
export const lockContext = {
  /**
   * Runs `fn` as one owner, such as one request or one job: inside, `mutex.acquire()` and `mutex.release()` are
   * re-entrant. A `run` inside a `run` is a new owner. If code inside acquires a lock that a function around it holds,
   * without a timeout and a signal, the acquire rejects with DeadlockError. It does so even if that function does not
   * await `run`, because the library cannot know. Use {@link lockContext.bind} to start work that nobody waits for.
   *
   * @returns what `fn` returns; for a thenable, a new promise. The context ends when that promise settles
   * @throws what `fn` throws, or TypeError if it is not a function
   * @example
   * await lockContext.run(async () => {
   *   const hold = await mutex.acquire();
   *   try {
   *     await transfer(); // may acquire the same mutex again
   *   } finally {
   *     await hold.release();
   *   }
   * });
   */
  run<T>(fn: () => T): T {
    if (typeof fn !== 'function') throw new TypeError('Expected `fn` of lockContext.run to be a function');
    return runAs('job', fn);
  },

  /**
   * Returns a function that runs `fn` in a fresh context **for each call**. It is for event handlers, where each call
   * is a job of its own, and for work that is started and not awaited. Inside, an acquire of a lock that the calling
   * code holds waits until the calling code releases it. So the calling code must not wait for the function: the two
   * would wait for each other forever.
   *
   * @throws TypeError if `fn` is not a function
   * @example
   * socket.on('message', lockContext.bind(async (message) => { await mutex.withLock(() => apply(message)); }));
   * await mutex.withLock(async () => {
   *   await update();
   *   void lockContext.bind(audit)(); // may acquire the same mutex, after this job
   * });
   */
  bind<This, Args extends unknown[], T>(fn: (this: This, ...args: Args) => T): (this: This, ...args: Args) => T {
    if (typeof fn !== 'function') throw new TypeError('Expected `fn` of lockContext.bind to be a function');
    return function bound(this: This, ...args: Args): T {
      return runAs('event', () => fn.apply(this, args));
    };
  },
};

function runAs<T>(kind: 'job' | 'event', fn: () => T): T {
  return new LockContext(kind, innermostContext()).run(fn);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
