import { abortHubs } from './abort-hubs.js';
import { abortReason } from './abort-signal.js';
import type { Clock } from './clock.js';
import { Listeners } from './listeners.js';

/**
 * How long one call waits: until its one absolute deadline, its AbortSignal, or the end of the client, whichever comes
 * first. Everything that the call awaits, connecting and retrying included, ends with it.
 */
export class Deadline<Of extends Caller = Caller> {
  readonly #caller: Of;
  readonly #subject: string;
  readonly #timeoutMs: number | undefined;
  readonly #errors: DeadlineErrors<Of>;
  /** Else the call tries once, and goes away again if it would have to wait. */
  readonly mayWait: boolean;
  /** When the call began; monotonic milliseconds. */
  readonly startedAt: number;
  #ends: Listeners<unknown> | undefined;
  #waiter: Waiter<never> | undefined;
  #stops: (() => void)[] | undefined;
  #end: { readonly error: unknown } | undefined;

  /** @param subject what the call is about, for its errors */
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

  /** Judged now: after a stall an answer may be read before the timer runs that it came too late for. */
  get isExpired(): boolean {
    if (!this.#end && this.#timeoutMs !== undefined && this.#caller.clock.now() - this.startedAt >= this.#timeoutMs)
      this.#expire(this.late());
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
   * Waits until `subscribe` wakes or fails it; rejects as soon as the deadline is over. Whichever comes, what
   * `subscribe`
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

  sleep(sleepMs: number): Promise<void> {
    return this.wait((wake) => this.#caller.clock.after(sleepMs, () => wake(undefined)));
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
   * What `run` comes to, unless the deadline is over first: then it rejects at once, and what comes of `run` later is
   * for `late` to clean up.
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
    this.#caller.deadlines.delete(this);
    const stops = this.#stops;
    this.#stops = undefined;
    stops?.forEach((stop) => stop());
  }

  /** The caller is about to close. */
  closing(): void {
    this.#expire(this.#errors.closed(this.#subject));
  }

  /** The error of a call whose time is over. */
  late(): Error {
    const waitedMs = this.#caller.clock.now() - this.startedAt;
    return this.#errors.late({
      caller: this.#caller,
      subject: this.#subject,
      timeoutMs: this.#timeoutMs ?? 0,
      waitedMs,
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

/** What the call is made with: its end is the end of the call. */
export interface Caller {
  readonly clock: Clock;
  readonly isClosing: boolean;
  /** Of the calls that wait. When it begins to close, it says so to each of them. */
  readonly deadlines: Set<Deadline>;
}

/** What a call rejects with when it was not settled in time, or when its caller closes. */
export interface DeadlineErrors<Of extends Caller> {
  late(call: LateCall<Of>): Error;
  closed(subject: string): Error;
}

/** A call that was not settled in time. */
export interface LateCall<Of extends Caller> {
  readonly caller: Of;
  readonly subject: string;
  readonly timeoutMs: number;
  /** Since it began. */
  readonly waitedMs: number;
}

/** As {@link Deadline.wait}; without a deadline it waits as long as it takes, for work in the background. */
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
