// Runs in a process of its own and prints the heap bytes that one waiter costs.
import { InterProcessMutex, LockClient } from './library.ts';

const [connectString = '', count = '0'] = process.argv.slice(2);
const waiters = Number(count);
const client = await LockClient.connect(connectString);
const mutex = new InterProcessMutex(client, '/bench/heap');
const hold = await mutex.acquire();

/** A separate function, so that the answer can be garbage-collected. */
const length = async (): Promise<number> => (await mutex.participants()).length;

const heap = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};
const before = heap();
const waiting = Array.from({ length: waiters }, () => mutex.acquire().catch(() => undefined));
while ((await length()) < waiters + 1) await new Promise((resolve) => setTimeout(resolve, 500));
// The last waiters still plant their watches. One connection answers in order, so the next answer comes after them.
await new Promise((resolve) => setTimeout(resolve, 1_500));
await length();
console.log((heap() - before) / waiters);
await client.close();
await Promise.all([...waiting, hold.release()]);
