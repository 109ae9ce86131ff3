// npm run suite -- soak-board [locks waiters]: what the live views cost with many locks. Prints how long a change takes until
// it is on the screen, the share of a core while nothing changes, and the memory.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openPaintedPage } from '../console/support/plain-page.ts';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { startRealServer } from '../../lab/servers/zookeeper-server.ts';

const [locks = 1_000, waiters = 10] = process.argv.slice(2).map(Number);
const changes = 300;
const idleMs = 30_000;
const bin = fileURLToPath(new URL('../../packages/zklock/bin/zklock.cjs', import.meta.url));

await using server = await startRealServer();
const clients = await Promise.all(
  Array.from({ length: 10 }, () => LockClient.connect(server.connectString, { sessionTimeoutMs: 40_000 })),
);
await fill();
await measureConsole();
await measureWatch();
process.exit();

/** Each lock has one holder and its waiters, spread over the clients. */
async function fill(): Promise<void> {
  let queued = 0;
  for (let index = 0; index < locks; index += 1) {
    const owner = (count: number): LockClient => clients[(index + count) % clients.length] as LockClient;
    const path = pathOf(index);
    await new InterProcessMutex(owner(0), path).acquire({ data: 'owner' });
    for (let count = 1; count <= waiters; count += 1) {
      const mutex = new InterProcessMutex(owner(count), path);
      mutex.on('queued', () => (queued += 1));
      void mutex.acquire({ data: 'owner' }).catch(() => undefined);
    }
  }
  while (queued < locks * waiters) await delay(100);
  console.log(`${locks} locks with a holder and ${waiters} waiters each`);
}

async function measureConsole(): Promise<void> {
  const zklock = start(['console', '--port', '0', '/board']);
  const url = await said(zklock, /http:\S+/);
  await report('console', zklock, async () => {
    const answer = await fetch(`${url}api/locks`);
    const { locks: shown } = (await answer.json()) as { locks: { waiterCount: number }[] };
    console.log(
      `console: shows ${shown.length} locks, ${shown.reduce((sum, { waiterCount }) => sum + waiterCount, 0)} waiters`,
    );
    await using page = await openPaintedPage(url);
    await page.shows(locks);
    const took: number[] = [];
    for (let index = 0; index < changes; index += 1) {
      const name = `/board/a-${index}`;
      const seen = page.painted(name);
      const startedAt = performance.now();
      const hold = await new InterProcessMutex(clients[0] as LockClient, name).acquire();
      took.push((await seen) - startedAt);
      await hold.release();
    }
    return took;
  });
}

async function measureWatch(): Promise<void> {
  const zklock = start(['watch', '/board'], true);
  let text = '';
  zklock.stdout?.setEncoding('utf8').on('data', (more: string) => {
    text = (text + more).slice(-20_000);
    zklock.emit('said');
  });
  await said(zklock, /locks, /);
  await report('watch', zklock, async () => {
    const took: number[] = [];
    for (let index = 0; index < changes; index += 1) {
      const name = `/board/b-${index}`;
      const startedAt = performance.now();
      const hold = await new InterProcessMutex(clients[0] as LockClient, name).acquire();
      while (!text.includes(name)) await once(zklock, 'said');
      took.push(performance.now() - startedAt);
      await hold.release();
    }
    return took;
  });
}

async function report(what: string, zklock: ChildProcess, run: () => Promise<number[]>): Promise<void> {
  await delay(3_000);
  const before = cpuMs(zklock);
  await delay(idleMs);
  const idle = ((cpuMs(zklock) - before) / idleMs) * 100;
  const atRest = memoryMb(zklock);
  const took = (await run()).sort((a, b) => a - b);
  const at = (share: number): string => (took[Math.floor((took.length - 1) * share)] ?? NaN).toFixed(0);
  console.log(
    `${what}: a change is on the screen after ${at(0.5)} ms (median), ${at(0.99)} ms (p99), ${at(1)} ms (longest of ${took.length}); ` +
      `${idle.toFixed(2)} % of a core when nothing changes; ${atRest} MB at rest, ${memoryMb(zklock)} MB after the changes, ${peakMb(zklock)} MB at most`,
  );
  zklock.kill('SIGTERM');
  await once(zklock, 'close');
}

/** `isTerminal`: under script(1), which gives it a terminal. */
function start(args: readonly string[], isTerminal = false): ChildProcess {
  const env = { ...process.env, ZOOKEEPER_CONNECT: server.connectString };
  const command = [process.execPath, bin, ...args];
  if (!isTerminal) return spawn(process.execPath, [bin, ...args], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return spawn('script', ['-qefc', `stty rows 50 cols 160; exec ${command.join(' ')}`, '/dev/null'], {
    env,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
}

async function said(zklock: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  for await (const chunk of zklock.stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += String(chunk);
    const found = pattern.exec(text);
    if (found) {
      zklock.stdout?.resume();
      return found[0];
    }
  }
  throw new Error(`It ended without ${pattern.source}: ${text}`);
}

/** The process that runs zklock: a child of script(1), or itself. */
function pidOf({ pid = 0 }: ChildProcess): number {
  const [child] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
  return child === undefined || child === '' ? pid : Number(child);
}

function cpuMs(zklock: ChildProcess): number {
  const fields =
    readFileSync(`/proc/${pidOf(zklock)}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function memoryMb(zklock: ChildProcess): number {
  return sizeOf(zklock, 'VmRSS');
}

function peakMb(zklock: ChildProcess): number {
  return sizeOf(zklock, 'VmHWM');
}

function sizeOf(zklock: ChildProcess, name: string): number {
  const status = readFileSync(`/proc/${pidOf(zklock)}/status`, 'utf8');
  return Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024);
}

function pathOf(index: number): string {
  return `/board/lock-${String(index).padStart(5, '0')}`;
}
