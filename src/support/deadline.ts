import { abortHubs, abortReason } from './abort-signal.js';
import type { Clock } from './clock.js';
import { Listeners } from './listeners.js';

/**
 * The end of one call's wait: its one absolute deadline, its AbortSignal, or the end of the client, whichever comes
 * first. Everything that the call awaits ends with it, including connecting and retrying.
 */
export class Deadline<Of extends Caller = Caller> {
  readonly #caller: Of;
  readonly #subject: string;
  readonly #timeoutMs: number | undefined;
  readonly #errors: DeadlineErrors<Of>;
  /** If false, the call tries once, and gives up instead of waiting. */
  readonly mayWait: boolean;
  /** The time when the call began; monotonic milliseconds. */
  readonly startedAt: number;
  /** The call of this process that this one waits for, instead of asking the servers itself. */
  follows: Deadline | undefined;
  #progress: Progress = 'asking';
  #ends: Listeners<unknown> | undefined;
  #waiter: Waiter<never> | undefined;
  #stops: (() => void)[] | undefined;
  #end: { readonly error: unknown } | undefined;

  /** @param subject the path that the call is about, for its errors */
  constructor(
    caller: Of,
    subject: string,
    errors: DeadlineErrors<Of>,
    { timeoutMs, signal, mayWait = true }: DeadlineOptions,
  ) {
    this.mayWait = mayWait;
    this.#caller = caller;
    this.#subject = subject;
    this.#timeoutMs = timeoutMs;
    this.#errors = errors;
    this.startedAt = caller.clock.now();
    if (signal?.aborted) {
      this.#end = { error: abortReason(signal) };
    } else if (caller.isClosing) {
      this.#end = { error: errors.closed(subject) };
    } else {
      caller.deadlines.add(this);
      if (timeoutMs !== undefined) this.#stops = [caller.clock.after(timeoutMs, () => this.#expire(this.late()))];
      if (signal) (this.#stops ??= []).push(abortHubs.onAbort(signal, (reason) => this.#expire(reason)));
    }
  }

  /** Compares the time now. After a stall, a late answer may be read before the timer of the deadline runs. */
  get isExpired(): boolean {
    if (!this.#end && this.#timeoutMs !== undefined && this.#caller.clock.now() - this.startedAt >= this.#timeoutMs)
      this.#expire(this.late());
    return this.#end !== undefined;
  }

  /** The progress of an acquire, for the reason of its timeout. */
  get progress(): Progress {
    return this.follows?.progress ?? this.#progress;
  }

  set progress(progress: Progress) {
    this.#progress = progress;
  }

  /** True for the deadline of an acquire: its caller waits for a lock. */
  get isAcquire(): boolean {
    return this.#errors.isAcquire === true;
  }

  check(): void {
    if (this.isExpired) throw this.#end?.error;
  }

  /** Calls `listener` once, with the error to reject with. Calls it at once if the deadline has ended already. */
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
   * Waits until `subscribe` wakes it or fails it. Rejects as soon as the deadline ends. In each case calls the function
   * that `subscribe` returned.
   */
  wait<T>(subscribe: (wake: (value: T) => void, fail: (error: unknown) => void) => () => void): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.isExpired) {
        reject(this.#end?.error);
        return;
      }
      const waiter = new Waiter<T>(resolve, reject);
      const stop = this.onEnd((error) => waiter.fail(error));
      const cancel = subscribe(
        (value) => waiter.wake(value),
        (error) => waiter.fail(error),
      );
      waiter.by({
        waitNoMore: () => {
          stop();
          cancel();
        },
      });
    });
  }

  sleep(sleepMs: number): Promise<void> {
    return this.wait((wake) => this.#caller.clock.after(sleepMs, () => wake(undefined)));
  }

  /** As `wait`, for the one wait of a call that may take long. */
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
   * Settles as `run` does, unless the deadline ends first. Then it rejects at once, and `late` cleans up a later result
   * of `run`.
   */
  limit<T>(run: () => Promise<T>, late: (value: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = this.onEnd((error) => reject(error));
      if (this.isExpired) return;
      run().then(
        (value) => {
          // Checked before `stop`, because this check may end the deadline, and then rejects the promise.
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

  /** Ends the deadline for a reason of the call's own. Everything that the call awaits rejects with `error`. */
  end(error: unknown): void {
    this.#expire(error);
  }

  /** The call has settled: removes its timer and its listeners. */
  dispose(): void {
    this.#caller.deadlines.delete(this);
    const stops = this.#stops;
    this.#stops = undefined;
    stops?.forEach((stop) => stop());
  }

  /** The caller is about to close. */
  closing(): void {
    this.#expire(this.#errors.closed(this.#subject));
  }

  /** The error of a call whose timeout has passed. */
  late(): Error {
    const waitedMs = this.#caller.clock.now() - this.startedAt;
    return this.#errors.late({
      caller: this.#caller,
      subject: this.#subject,
      timeoutMs: this.#timeoutMs ?? 0,
      waitedMs,
      progress: this.progress,
    });
  }

  #expire(error: unknown): void {
    if (this.#end) return;
    this.#end = { error };
    this.dispose();
    this.#waiter?.fail(error);
    this.#ends?.tell(error);
  }
}

/** The client that the call is made with. The end of the client is the end of the call. */
export interface Caller {
  readonly clock: Clock;
  readonly isClosing: boolean;
  /** The deadlines of the waiting calls. When the caller begins to close, it calls `closing` on each of them. */
  readonly deadlines: Set<Deadline>;
}

/** The errors that a call rejects with: when it is not settled in time, and when its caller closes. */
export interface DeadlineErrors<Of extends Caller> {
  /** True for the errors of an acquire. @default false */
  readonly isAcquire?: boolean;
  late(call: LateCall<Of>): Error;
  closed(subject: string): Error;
}

/** A call that was not settled in time. */
export interface LateCall<Of extends Caller> {
  readonly caller: Of;
  readonly subject: string;
  readonly timeoutMs: number;
  /** Milliseconds since the call began. */
  readonly waitedMs: number;
  readonly progress: Progress;
}

/**
 * The progress of an acquire:
 * - `asking`: it has not learnt its place in the queue;
 * - `behind-others`: other participants were before it when it learnt its place;
 * - `first`: nobody is before it, and its session must prove that it is alive.
 */
export type Progress = 'asking' | 'behind-others' | 'first';

/** As {@link Deadline.wait}. Without a deadline it waits without a limit, for work in the background. */
export function waitBefore<T>(
  deadline: Deadline | undefined,
  subscribe: (wake: (value: T) => void) => () => void,
): Promise<T> {
  if (deadline) return deadline.wait(subscribe);
  return new Promise((resolve) => {
    const stop = subscribe((value) => {
      stop();
      resolve(value);
    });
  });
}

export interface DeadlineOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** If false, the call tries once, and waits only for the answers of that try. @default true */
  readonly mayWait?: boolean;
}

/** A wait that can be cancelled. */
export interface Wait {
  waitNoMore(): void;
}

/** A waiter that waits until it is woken or failed. It is small, because ten thousand may wait. */
export class Waiter<T> {
  readonly #resolve: (value: T) => void;
  readonly #reject: (error: unknown) => void;
  #wait: Wait | 'not yet' | 'over' = 'not yet';

  constructor(resolve: (value: T) => void, reject: (error: unknown) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Sets the wait to cancel when the waiter is woken or failed. */
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
