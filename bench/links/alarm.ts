import { Worker } from 'node:worker_threads';

/**
 * Wakes this thread at a time, to about a tenth of a millisecond, and sleeps until then. `setTimeout` is no
 * alternative, because it counts whole milliseconds, and a delay of 1 ms would be anything between 0 and 2.
 */
export class Alarm {
  readonly #changes = new Int32Array(new SharedArrayBuffer(4));
  readonly #due = new BigInt64Array(new SharedArrayBuffer(8));

  constructor(onAlarm: () => void) {
    const worker = new Worker(new URL('alarm-thread.mjs', import.meta.url), {
      workerData: { changes: this.#changes, due: this.#due },
    });
    worker.on('message', onAlarm);
    worker.on('error', (error) => {
      throw error;
    });
  }

  /** @param dueNs on the clock of `process.hrtime.bigint()`; replaces the previous time */
  set(dueNs: bigint): void {
    Atomics.store(this.#due, 0, dueNs);
    Atomics.add(this.#changes, 0, 1);
    Atomics.notify(this.#changes, 0);
  }
}
