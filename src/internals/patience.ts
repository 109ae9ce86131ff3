import { ClientClosedError, LockTimeoutError } from '../client/errors.js';
import { Listeners } from '../client/listeners.js';
import type { LockClient } from '../client/lock-client.js';
import { onAbort } from './on-abort.js';

export interface PatienceOptions {
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** What the lock is waited for to be. @default 'acquired' */
  readonly what?: 'acquired' | 'released';
}

/**
 * How long one call waits: until its one absolute deadline, its AbortSignal, or the end of the client, whichever comes
 * first. Everything that the call awaits, connecting and retrying included, ends with it.
 */
export class Patience {
  readonly #overs = new Listeners<unknown>();
  readonly #stops: (() => void)[] = [];
  readonly #isLate: () => boolean;
  readonly #late: () => Error;
  #end: { readonly error: unknown } | undefined;

  constructor(client: LockClient, path: string, { timeoutMs, signal, what }: PatienceOptions) {
    const deadline = timeoutMs === undefined ? Infinity : client.clock.now() + timeoutMs;
    this.#isLate = () => deadline !== Infinity && client.clock.now() >= deadline;
    this.#late = () => new LockTimeoutError(path, timeoutMs ?? 0, what);
    if (signal?.aborted) {
      this.#end = { error: signal.reason };
    } else if (client.isClosing) {
      this.#end = { error: new ClientClosedError(closedWhile(path)) };
    } else {
      if (timeoutMs !== undefined) {
        this.#stops.push(client.clock.after(timeoutMs, () => this.#over(this.#late())));
      }
      this.#stops.push(client.onChange(() => client.isClosing && this.#over(new ClientClosedError(closedWhile(path)))));
      if (signal) this.#stops.push(onAbort(signal, (reason) => this.#over(reason)));
    }
  }

  /** Judged now: after a stall an answer may be read before the timer runs that it came too late for. */
  get isOver(): boolean {
    if (!this.#end && this.#isLate()) this.#over(this.#late());
    return this.#end !== undefined;
  }

  check(): void {
    if (this.isOver) throw this.#end?.error;
  }

  /** Called once, with what to reject with; at once if it is over already. */
  onOver(listener: (error: unknown) => void): () => void {
    if (this.#end) listener(this.#end.error);
    return this.#overs.add(listener);
  }

  /**
   * Waits until `subscribe` wakes or fails it; rejects as soon as the patience is over. Whichever comes, what `subscribe`
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
      if (this.isOver) {
        reject(this.#end?.error);
        return;
      }
      const stop = this.onOver((error) => settle(() => reject(error)));
      subscription.cancel = subscribe(
        (value) => settle(() => resolve(value)),
        (error) => settle(() => reject(error)),
      );
      if (isSettled as boolean) subscription.cancel(); // woken while it subscribed
    });
  }

  /**
   * What `run` comes to, unless the patience is over first: then it rejects at once, and what comes of `run` later is for `late` to clean up.
   */
  limit<T>(run: () => Promise<T>, late: (value: T) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const stop = this.onOver((error) => reject(error));
      if (this.isOver) return;
      run().then(
        (value) => {
          // Asked before `stop`: it is this question that may find the patience over, and reject.
          if (this.isOver) late(value);
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
    this.#over(error);
  }

  /** The call has settled: no timer and no listener stays behind. */
  dispose(): void {
    for (const stop of this.#stops.splice(0)) stop();
  }

  #over(error: unknown): void {
    if (this.#end) return;
    this.#end = { error };
    this.dispose();
    this.#overs.tell(error);
  }
}

function closedWhile(path: string): string {
  return `nothing can be done with the lock ${path} any more`;
}
