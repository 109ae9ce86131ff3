import { AsyncResource } from 'node:async_hooks';
import { promisify } from 'node:util';
import { phases } from './agenda.ts';
import type { VirtualTime } from './virtual-time.ts';

/** A timer as `setTimeout` and `setInterval` of Node return it. */
export class VirtualTimer implements Disposable {
  readonly #time: VirtualTime;
  readonly #delayMs: number;
  readonly #run: () => void;
  readonly #isRepeated: boolean;
  readonly #resource = new AsyncResource('Timeout');
  #isRef = true;
  #cancel: (() => void) | undefined;

  constructor(time: VirtualTime, run: () => void, delayMs: number, isRepeated: boolean) {
    this.#time = time;
    this.#run = run;
    // As Node does: too long, negative and missing delays are one millisecond.
    this.#delayMs = delayMs >= 1 && delayMs < 2 ** 31 ? Math.trunc(delayMs) : 1;
    this.#isRepeated = isRepeated;
    this.refresh();
  }

  refresh(): this {
    this.close();
    this.#cancel = this.#time.add(this.#delayMs, phases.timer, () => this.#fire(), { resource: this.#resource });
    return this;
  }

  close(): this {
    this.#cancel?.();
    this.#cancel = undefined;
    return this;
  }

  ref(): this {
    this.#isRef = true;
    return this;
  }

  unref(): this {
    this.#isRef = false;
    return this;
  }

  hasRef(): boolean {
    return this.#isRef;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #fire(): void {
    this.#cancel = undefined;
    if (this.#isRepeated) this.refresh();
    this.#run();
  }
}

/** The functions of Node's global timers, and of `node:timers/promises`, on virtual time. */
export function virtualTimers(time: VirtualTime) {
  type Run = (...args: unknown[]) => void;
  const timer =
    (isRepeated: boolean) =>
    (run: Run, delayMs = 1, ...args: unknown[]): VirtualTimer =>
      new VirtualTimer(time, () => run(...args), delayMs, isRepeated);
  const clear = (given: unknown): void => {
    if (given instanceof VirtualTimer) given.close();
  };
  const setImmediate = (run: Run, ...args: unknown[]): VirtualImmediate =>
    // A loop of immediates takes time, or no timer would ever be due.
    new VirtualImmediate(
      time.add(time.last.phase === phases.check ? turnMs : 0, phases.check, () => run(...args), {
        resource: new AsyncResource('Immediate'),
      }),
    );
  const clearImmediate = (given: unknown): void => {
    if (given instanceof VirtualImmediate) given.cancel();
  };
  const sleep = <T>(delayMs?: number, value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> =>
    whenDone(signal, (done) => {
      const made = new VirtualTimer(time, () => done(value as T), delayMs ?? 1, false);
      return () => made.close();
    });
  const turn = <T>(value?: T, { signal }: { signal?: AbortSignal } = {}): Promise<T> =>
    whenDone(signal, (done) => {
      const made = setImmediate(() => done(value as T));
      return () => made.cancel();
    });
  const setTimeout = Object.assign(timer(false), { [promisify.custom]: sleep });
  return {
    globals: {
      setTimeout,
      setInterval: timer(true),
      setImmediate: Object.assign(setImmediate, { [promisify.custom]: turn }),
      clearTimeout: clear,
      clearInterval: clear,
      clearImmediate,
    },
    promises: {
      setTimeout: sleep,
      setImmediate: turn,
      setInterval: (delayMs?: number, value?: unknown) => ticks(sleep, delayMs, value),
    },
  };
}

const turnMs = 0.01;

class VirtualImmediate {
  readonly cancel: () => void;

  constructor(cancel: () => void) {
    this.cancel = cancel;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }

  hasRef(): boolean {
    return true;
  }
}

async function* ticks<T>(sleep: (delayMs?: number, value?: T) => Promise<T>, delayMs?: number, value?: T) {
  for (;;) yield await sleep(delayMs, value);
}

/** A promise of a timer, which rejects with Node's AbortError. */
function whenDone<T>(signal: AbortSignal | undefined, start: (done: (value: T) => void) => () => void): Promise<T> {
  return new Promise((resolve, reject) => {
    let stop = (): void => undefined;
    const abort = (): void => {
      stop();
      const error = new Error('The operation was aborted', { cause: signal?.reason });
      reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }));
    };
    if (signal?.aborted === true) return abort();
    stop = start((value) => {
      signal?.removeEventListener('abort', abort);
      resolve(value);
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
