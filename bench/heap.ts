// A process of its own: what a waiter costs in memory. Says bytes per waiter.
import { InterProcessMutex, LockClient } from './library.ts';

const [connectString = '', count = '0'] = process.argv.slice(2);
const waiters = Number(count);
const client = await LockClient.connect(connectString);
const mutex = new InterProcessMutex(client, '/bench/heap');
const hold = await mutex.acquire();

/** In a function of its own, so that nothing of the answer is kept. */
const length = async (): Promise<number> => (await mutex.participants()).length;

const heap = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};
const before = heap();
const waiting = Array.from({ length: waiters }, () => mutex.acquire().catch(() => undefined));
while ((await length()) < waiters + 1) await new Promise((resolve) => setTimeout(resolve, 500));
// Their watches are planted in a moment, and one connection answers in order.
await new Promise((resolve) => setTimeout(resolve, 1_500));
await length();
console.log((heap() - before) / waiters);
await client.close();
await Promise.all([...waiting, hold.release()]);
