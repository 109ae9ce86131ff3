// A thread that sleeps until the time in `due`, and then sends a message. 0 is no time.
// It is not TypeScript, because the loader that runs the other files does not reach threads.
import { parentPort, workerData } from 'node:worker_threads';

const { changes, due } = workerData;

for (;;) {
  const change = Atomics.load(changes, 0);
  const time = Atomics.load(due, 0);
  if (time === 0n) {
    Atomics.wait(changes, 0, change);
    continue;
  }
  const leftMs = Number(time - process.hrtime.bigint()) / 1e6;
  // A new time may be an earlier one: read it.
  if (leftMs > 0 && Atomics.wait(changes, 0, change, leftMs) !== 'timed-out') continue;
  if (Atomics.compareExchange(due, 0, time, 0n) === time) parentPort.postMessage(undefined);
}
