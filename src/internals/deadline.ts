import { abortReason } from '../support/abort-signal.js';
import { ClientClosedError } from '../client/client-errors.js';
import { LockTimeoutError, type TimedOut } from './lock-errors.js';
import { Listeners } from '../support/listeners.js';
import type { LockClient } from '../client/lock-client.js';
import { onAbort } from '../support/on-abort.js';

/**
 * How long one call waits: until its one absolute deadline, its AbortSignal, or the end of the client, whichever comes
 * first. Everything that the call awaits, connecting and retrying included, ends with it.
 */
export class Deadline {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #timeoutMs: number | undefined;
  readonly #what: DeadlineOptions['what'];
  /** Else the call tries once, and goes away again if it would have to wait. */
  readonly mayWait: boolean;
  /** When the call began; monotonic milliseconds. */
  readonly startedAt: number;
  #ends: Listeners<unknown> | undefined;
  #waiter: Waiter<never> | undefined;
  #stops: (() => void)[] | undefined;
  #end: { readonly error: unknown } | undefined;

  constructor(client: LockClient, path: string, { timeoutMs, signal, what, mayWait = true }: DeadlineOptions) {
    this.mayWait = mayWait;
    this.#client = client;
    this.#path = path;
    this.#timeoutMs = timeoutMs;
    this.#what = what;
    this.startedAt = client.clock.now();
    if (signal?.aborted) {
      this.#end = { error: abortReason(signal) };
    } else if (client.isClosing) {
      this.#end = { error: this.#closed() };
    } else {
      waitingIn(client).add(this);
      if (timeoutMs !== undefined) this.#stops = [client.clock.after(timeoutMs, () => this.#expire(this.#late()))];
      if (signal) (this.#stops ??= []).push(onAbort(signal, (reason) => this.#expire(reason)));
    }
  }

  /** Of an acquire: with a timeout of 0 it tries once. */
  static ofAcquire(client: LockClient, path: string, { timeoutMs, signal }: DeadlineOptions): Deadline {
    return new Deadline(client, path, timeoutMs === 0 ? { signal, mayWait: false } : { timeoutMs, signal });
  }

  /** Judged now: after a stall an answer may be read before the timer runs that it came too late for. */
  get isExpired(): boolean {
    if (!this.#end && this.#timeoutMs !== undefined && this.#client.clock.now() - this.startedAt >= this.#timeoutMs) this.#expire(this.#late());
    return this.#end !== undefined;
  }

  check(): void {
    if (this.isExpired) throw this.#end?.error;
  }

  /** Called once, with what to reject with; at once if it is over already. */
  onEnd(listener: (error: unknown) => void): () => void {
    if (this.#end) listener(this.#end.error);
    this.#ends ??= new Listeners();
    const stop = this.#ends.add(listener);
    return () => {
      stop();
      if (this.#ends?.isEmpty) this.#ends = undefined;
    };
  }

  /**
   * Waits until `subscribe` wakes or fails it; rejects as soon as the deadline is over. Whichever comes, what `subscribe`
   * returned is called.
   */
  wait<T>(subscribe: (wake: (value: T) => void, fail: (error: unknown) => void) => () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const subscription = { cancel: (): void => undefined };
      const settle = (how: () => void): void => {
        if (isSettled) return;
        isSettled = true;
        stop();
        subscription.cancel();
        how();
      };
      if (this.isExpired) {
        reject(this.#end?.error);
        return;
      }
      const stop = this.onEnd((error) => settle(() => reject(error)));
      subscription.cancel = subscribe(
        (value) => settle(() => resolve(value)),
        (error) => settle(() => reject(error)),
      );
      if (isSettled as boolean) subscription.cancel(); // woken while it subscribed
    });
  }

  /** As `wait`, for the one wait that may last long. */
  waitAs<T>(subscribe: (waiter: Waiter<T>) => Wait): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.isExpired) {
        reject(this.#end?.error);
        return;
      }
      const waiter = new Waiter<T>(resolve, reject);
      this.#waiter = waiter;
      waiter.by(subscribe(waiter));
    });
  }

  /**
   * What `run` comes to, unless the deadline is over first: then it rejects at once, and what comes of `run` later is for `late` to clean up.
   */
  limit<T>(run: () => Promise<T>, late: (value: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = this.onEnd((error) => reject(error));
      if (this.isExpired) return;
      run().then(
        (value) => {
          // Asked before `stop`: it is this question that may find the deadline over, and reject.
          if (this.isExpired) late(value);
          else resolve(value);
          stop();
        },
        (error: unknown) => {
          stop();
          reject(error);
        },
      );
    });
  }

  /** Ends it for a reason of the call's own: all that it awaits rejects with `error`. */
  end(error: unknown): void {
    this.#expire(error);
  }

  /** The call has settled: no timer and no listener stays behind. */
  dispose(): void {
    waiting.get(this.#client)?.delete(this);
    const stops = this.#stops;
    this.#stops = undefined;
    stops?.forEach((stop) => stop());
  }

  /** The client is about to close. */
  closing(): void {
    this.#expire(this.#closed());
  }

  #late(): Error {
    return new LockTimeoutError(this.#path, this.#timeoutMs ?? 0, this.#what);
  }

  #closed(): Error {
    return new ClientClosedError(`nothing can be done with the lock ${this.#path} any more`);
  }

  #expire(error: unknown): void {
    if (this.#end) return;
    this.#end = { error };
    this.dispose();
    this.#waiter?.fail(error);
    this.#ends?.tell(error);
  }
}

export interface DeadlineOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What the call waits for. @default 'acquired' */
  readonly what?: TimedOut;
  /** Whether it waits at all, or tries once, for as long as an answer takes. @default true */
  readonly mayWait?: boolean;
}

/** Something that can be taken back. */
export interface Wait {
  waitNoMore(): void;
}

/** One that waits until it is woken or failed; small, because ten thousand may wait. */
export class Waiter<T> {
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  #wait: Wait | 'not yet' | 'over' = 'not yet';

  constructor(resolve: (value: T) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** What ends with it. */
  by(wait: Wait): void {
    if (this.#wait === 'over') wait.waitNoMore();
    else this.#wait = wait;
  }

  wake(value: T): void {
    this.#end();
    this.#resolve(value);
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    const wait = this.#wait;
    this.#wait = 'over';
    if (typeof wait === 'object') wait.waitNoMore();
  }
}

/** The calls that wait in a client, told by one listener of its end. */
const waiting = new WeakMap<LockClient, Set<Deadline>>();

function waitingIn(client: LockClient): Set<Deadline> {
  const known = waiting.get(client);
  if (known) return known;
  const patient = new Set<Deadline>();
  waiting.set(client, patient);
  client.onChange(() => {
    if (client.isClosing) for (const each of [...patient]) each.closing();
  });
  return patient;
}
