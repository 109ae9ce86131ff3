// Prints the locks that a client has waited for too long, with their holders: for a pager or a monitoring system. It
// reads the JSON of the web console, so it knows locks of every kind, of programs in Java and Python as well.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient } from 'zookeeper-fair-lock';

/** The parts of `GET /api/locks` that are used here. */
interface Board {
  readonly at: string;
  readonly state: { readonly is: 'reading' | 'live' | 'cut-off' };
  readonly locks: readonly { path: string; holders: readonly Participant[]; waiters: readonly Participant[] }[];
}
interface Participant {
  readonly host: string | null;
  readonly pid: number | null;
  readonly data: string;
  readonly queuedAt: string;
}

/** The locks whose first waiter has waited longer than `limitMs`, a line for each. */
async function overdueLocks(url: string, limitMs: number): Promise<string[]> {
  const answer = await fetch(`${url}api/locks`);
  const { at, state, locks } = (await answer.json()) as Board;
  // The content is old then, and old content must not wake anybody.
  if (state.is !== 'live') throw new Error('The console is cut off from ZooKeeper');
  return locks.flatMap(({ path, holders, waiters: [next] }) => {
    // `queuedAt` is the time of the servers: `zklock check` tells how far the clocks differ.
    const waitedMs = next === undefined ? 0 : Date.parse(at) - Date.parse(next.queuedAt);
    return waitedMs > limitMs ? [`${path}: held by ${holders.map(nameOf).join(', ')}`] : [];
  });
}

function nameOf({ host, pid, data }: Participant): string {
  return host === null ? data : `${host} pid ${pid ?? '?'}`;
}

/** In production, the console runs somewhere already, and you need only its address. */
async function startConsole(servers: string) {
  const folder = dirname(createRequire(import.meta.url).resolve('zklock/package.json'));
  const args = [join(folder, 'bin', 'zklock.cjs'), 'console', '--servers', servers, '--port', '0', '/locks'];
  const process_ = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(createInterface(process_.stdout), 'line')) as [string];
  return { url: line.split(' ')[0] ?? '', process: process_ };
}

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const limitMs = 300; // some minutes, in production
const console_ = await startConsole(servers);
await using client = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/report');

const hold = await mutex.acquire({ data: 'owner' });
assert.deepEqual(await overdueLocks(console_.url, limitMs), [], 'a long job disturbs nobody while nobody waits');

const waiting = mutex.acquire();
let overdue: string[] = [];
for (; overdue.length === 0; await delay(50)) overdue = await overdueLocks(console_.url, limitMs);
assert.match(overdue[0] ?? '', new RegExp(`^/locks/report: held by \\S+ pid ${process.pid}$`));
console.log(overdue.join('\n'));

await hold.release();
const next = await waiting;
for (; overdue.length > 0; await delay(50)) overdue = await overdueLocks(console_.url, limitMs);
await next.release();

console_.process.kill();
await once(console_.process, 'exit');
