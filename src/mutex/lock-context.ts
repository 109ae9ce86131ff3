import { AsyncLocalStorage } from 'node:async_hooks';
import type { Hold } from './hold.js';

/**
 * Who owns a lock in JavaScript, as a thread does in Java: the code that runs inside one function, structured, so that
 * ownership never depends on luck. `AsyncLocalStorage.enterWith` is not used: it would mark the caller's flow too, and
 * the next
 * job of that flow would walk into the critical section.
 */
export class LockContext {
  #kind: ContextKind;
  #parent: LockContext | undefined;
  /** What this context holds, latest last, by the key of the lock. */
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

  /** This context and those around it that belong to the same owner, dead ones left out, innermost first. */
  *owners(): Generator<LockContext> {
    if (this.#isLive) yield this;
    for (let context = this.#aroundOfSameOwner(); context; context = context.#aroundOfSameOwner()) yield context;
  }

  /** Every live context that waits for this one to end, other owners' included. */
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
   * The latest unreleased hold of a lock that is not lost; where all are, the latest: a lease may have ended an inner
   * one alone.
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

  /** Others of this context that want the lock wait for `acquiring` instead of queueing up behind it. */
  async first<T>(key: string, acquiring: Promise<T>): Promise<T> {
    this.#pending.set(key, acquiring);
    try {
      return await acquiring;
    } finally {
      this.#pending.delete(key);
    }
  }

  /** Runs `fn` in this context, which dies when it settles: work that outlives it is outside of it. */
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
   * What the caller gets in place of the thenable. A second `then` on the side would start a lazy one, such as a query,
   * twice, and would
   * count as somebody who handles the rejection of a promise that nobody looks at.
   */
  async #untilSettled<T>(result: PromiseLike<T>): Promise<T> {
    try {
      return await result;
    } finally {
      this.#isLive = false;
    }
  }

  /** Jobs that overlap, each started by the one before, die behind the backs of those that they have started. */
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
   * The nearest live context around it. Dead ones are forgotten, and not only passed over: a job that schedules the
   * next one would drag
   * along every job that ever was.
   */
  #around(): LockContext | undefined {
    while (this.#parent && !this.#parent.#isLive) {
      // What is around a dead job belongs to another owner, still; and what is around a dead event does not wait.
      if (this.#parent.#kind === 'event' || this.#kind === 'lock') this.#kind = this.#parent.#kind;
      this.#parent = this.#parent.#parent;
    }
    return this.#parent;
  }
}

/**
 * `lock`: opened by `withLock`, part of the owner around it, while that lives. `job`: opened by `lockContext.run`, a
 * new owner, for which the code around it waits. `event`: one
 * call of a handler that `lockContext.bind` has made, a new owner, for which the code around it does not wait: an
 * emitter drops what a handler returns.
 */
export type ContextKind = 'lock' | 'job' | 'event';

/** Created when a context is first used: on Node 20 it makes every await of the process slower. */
let storage: AsyncLocalStorage<LockContext | undefined> | undefined;

/** The innermost context of the running code, alive or dead. */
export function innermostContext(): LockContext | undefined {
  return storage?.getStore();
}

/** The context that owns what the running code acquires; undefined outside of every live one. */
export function currentContext(): LockContext | undefined {
  for (const context of innermostContext()?.owners() ?? []) return context;
  return undefined;
}

/**
 * Says which code is one owner, as one thread is in Java. `mutex.withLock(job)` opens a context by itself; these are
 * for plain `acquire()` and
 * `release()`.
 */
export const lockContext = {
  /**
   * Runs `fn` as one owner, one request or one job: inside, `mutex.acquire()` and `mutex.release()` are re-entrant. A
   * `run`
   * inside a `run` is a new owner. To wait in there, without a timeout and a signal, for a lock that a function around
   * it holds is a DeadlockError, whether that function
   * awaits `run` or not: nobody can know. Start work that it does not wait for by {@link lockContext.bind}.
   *
   * @returns what `fn` returns, or, of a thenable, a promise of its own; when that settles, the context ends
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
   * A function that runs `fn` in a fresh context **for each call**: for event handlers, of which each call is a job of
   * its own, and for work that is started and not
   * awaited. It waits for a lock that the code around the call holds until that code releases it. So that code must not
   * wait for it: it would wait for ever.
   *
   * @throws TypeError if `fn` is not a function
   * @example
   * socket.on('message', lockContext.bind(async (message) => { await mutex.withLock(() => apply(message)); }));
   * await mutex.withLock(async () => {
   *   await update();
   *   void lockContext.bind(audit)(); // may take the same mutex: its turn comes after this job
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
