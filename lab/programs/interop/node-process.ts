import '../../servers/over-tls.ts';
// This library as a peer: it executes commands line by line, like JavaPeer.java. An owner is a name; it acquires
// outside of every lock context.
import { appendFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { LockClient } from '../../../src/index.ts';
import { NodeLocks, type AnyHold } from './node-locks.ts';

const [connectString = '', sessionTimeoutMs = '30000'] = process.argv.slice(2);
const client = await LockClient.connect(connectString, { sessionTimeoutMs: Number(sessionTimeoutMs) });
const locks = new NodeLocks(client);
const holds = new Map<string, AnyHold[]>();

/** The time of a visit. */
const stayMs = 20;

const verbs: Readonly<Record<string, (owner: string, ...args: string[]) => Promise<unknown>>> = {
  async acquire(owner, kind = '', path = '', timeoutMs = '-1') {
    const hold = await locks.of(kind, path).acquire(Number(timeoutMs) < 0 ? {} : { timeoutMs: Number(timeoutMs) });
    holdsOf(owner, kind, path).push(hold);
    return hold.path ?? true;
  },
  async release(owner, kind = '', path = '') {
    return holdsOf(owner, kind, path).shift()?.release();
  },
  async work(owner, kind = '', path = '', folder = '', rounds = '0') {
    const lock = locks.of(kind, path);
    for (let round = 0; round < Number(rounds); round += 1) {
      const hold = await lock.acquire();
      try {
        await pieceOfWork(kind)(folder, hold, owner);
      } finally {
        await hold.release();
      }
    }
    return Number(rounds);
  },
};

say({ event: 'ready' });
for await (const line of createInterface({ input: process.stdin })) {
  const [id, owner = '', verb = '', ...args] = line.split(' ');
  const act = verbs[verb];
  if (!act) throw new Error(`No verb ${verb}`);
  act(owner, ...args).then(
    (value) => say({ id: Number(id), value: value ?? null }),
    (error: unknown) => say({ id: Number(id), error: String(error) }),
  );
}
await client.close();

function holdsOf(...key: string[]): AnyHold[] {
  const held = holds.get(key.join(' ')) ?? [];
  holds.set(key.join(' '), held);
  return held;
}

function pieceOfWork(kind: string): (folder: string, hold: AnyHold, owner: string) => Promise<void> {
  if (kind === 'read') return look;
  return kind.startsWith('semaphore:') ? crowdOf(Number(kind.split(':')[1])) : count;
}

async function count(folder: string, hold: AnyHold): Promise<void> {
  const before = Number(readFileSync(join(folder, 'count'), 'utf8'));
  await nextTurn();
  writeFileSync(join(folder, 'count'), String(before + 1));
  appendFileSync(join(folder, 'grants'), `${hold.fencingToken ?? '?'} node\n`);
}

async function look(folder: string): Promise<void> {
  const before = readFileSync(join(folder, 'count'), 'utf8');
  await nextTurn();
  const after = readFileSync(join(folder, 'count'), 'utf8');
  if (before === '' || before !== after) throw new Error(`a writer was there: ${before}, then ${after}`);
}

/** The first visitors stay until there are `most`, because on a busy machine short visits might never meet. */
function crowdOf(most: number): (folder: string, hold: AnyHold, owner: string) => Promise<void> {
  return async (folder, _hold, owner) => {
    const full = join(folder, 'full');
    const mine = join(folder, 'inside', `node-${process.pid}-${owner}`);
    writeFileSync(mine, '', { flag: 'wx' });
    let inside: number;
    do {
      await delay(stayMs);
      inside = readdirSync(join(folder, 'inside')).length;
    } while (inside < most && !existsSync(full));
    if (inside >= most) writeFileSync(full, '');
    rmSync(mine);
    appendFileSync(join(folder, 'crowds'), `${inside} node\n`);
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}

function say(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
