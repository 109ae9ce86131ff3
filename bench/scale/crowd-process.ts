// One process with many clients. Its parent tells it what to do, one task after another.
import { memoryUsage } from 'node:process';
import { InterProcessMutex, LockClient } from '../library.ts';
import type { LockClient as Client } from '../../src/index.ts';
import type { Answer, Task } from './crowd.ts';

const clients: Client[] = [];
const holds = new Map<string, () => Promise<unknown>>();
const acquiring = new Set<Promise<unknown>>();
let grantedAt = new Map<string, number>();

process.on('message', (task: Task) => {
  void carryOut(task).then(
    (answer) => process.send?.(answer),
    (error: unknown) => process.send?.({ error: String(error) } satisfies Answer),
  );
});

// Also if the parent was ended. Otherwise the clients would never stop to dial a server that is gone.
process.once('disconnect', () => process.exit());

async function carryOut(task: Task): Promise<Answer> {
  switch (task.do) {
    case 'connect':
      return connect(task.connectString, task.clients, task.sessionTimeoutMs);
    case 'queue-up':
      return queueUp(task.requests);
    case 'release':
      grantedAt = new Map();
      await holds.get(task.path)?.();
      return { atMs: now() };
    case 'granted-at':
      return { atMs: grantedAt.get(task.path) ?? NaN };
    case 'held':
      return { paths: [...holds.keys()] };
    case 'measure':
      return { rssBytes: measuredRss(), cpuMicros: cpuMicros() };
    case 'close':
      await Promise.all(clients.map((client) => client.close({ timeoutMs: 60_000 })));
      await Promise.all(acquiring);
      setImmediate(() => process.disconnect());
      return {};
  }
}

/** A few at a time, as processes start one after the other. */
async function connect(connectString: string, count: number, sessionTimeoutMs: number): Promise<Answer> {
  while (clients.length < count) {
    const next = Array.from({ length: Math.min(50, count - clients.length) }, () =>
      LockClient.connect(connectString, { sessionTimeoutMs, connectionTimeoutMs: 60_000 }),
    );
    clients.push(...(await Promise.all(next)));
  }
  return {};
}

/** Resolves when the servers have all requests in their queues. */
async function queueUp(requests: readonly (readonly [client: number, path: string])[]): Promise<Answer> {
  const left = requests.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const [client, path] of left) await queued(client, path);
    }),
  );
  return {};
}

function queued(client: number, path: string): Promise<void> {
  const mutex = new InterProcessMutex(clients[client] as Client, path);
  return new Promise((resolve) => {
    mutex.once('queued', () => resolve());
    const request = mutex.acquire().then(
      (hold) => {
        grantedAt.set(path, now());
        holds.set(path, () => {
          holds.delete(path);
          return hold.release();
        });
        resolve();
      },
      () => resolve(), // the client closes
    );
    acquiring.add(request);
  });
}

/** Comparable between the processes of one machine. */
function now(): number {
  return performance.timeOrigin + performance.now();
}

function measuredRss(): number {
  globalThis.gc?.();
  return memoryUsage.rss();
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

const atOnce = 500;
