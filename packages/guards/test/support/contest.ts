import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { InterProcessMutex, LockClient } from '../../../../src/index.ts';
import { EmbeddedZooKeeper } from '../../../testing/src/index.ts';
import { startProxy } from '../../../../lab/proxy/zk-proxy.ts';
import { openDesk, type Library } from './desk.ts';

/** A line that the contestant prints. */
export type Said = { at: 'in'; id: string } | { at: 'done'; id: string } | { at: 'refused'; id: string; code: string };

export interface Contest {
  /** The list of the store: `<token> begin <id>` and `<token> end <id>`. */
  readonly written: readonly string[];
  /** By the id of the transaction; `done`, or the code of an error; an id without an outcome was killed. */
  readonly outcomes: ReadonlyMap<string, string>;
}

export const faults = ['stopped', 'partitioned', 'killed'] as const;
export type Fault = (typeof faults)[number];

const sessionTimeoutMs = 1_000;
/** On a busy machine, a killed contestant takes half a minute to start again. */
const contestantLimitMs = 180_000;
const program = fileURLToPath(new URL('contestant.ts', import.meta.url));

/**
 * Two processes write under one lock. In each round, a fault meets the contestant in the middle of its transaction, for
 * two session timeouts. This process writes meanwhile as a later holder.
 */
export async function contest(
  library: Library,
  address: string,
  rounds: readonly Fault[],
  how: 'guarded' | 'unguarded',
): Promise<Contest> {
  await using desk = await openDesk(library, address);
  await desk.clear();
  await using zk = await EmbeddedZooKeeper.start({ tickTimeMs: 100 });
  await using proxy = await startProxy(zk.port);
  await using client = await LockClient.connect(zk.connectString, { sessionTimeoutMs });
  const lock = `/locks/${library}-${how}-${process.pid}`;
  const outcomes = new Map<string, string>();
  let hear: (said: Said) => void = () => undefined;
  const begin = (): Contestant => {
    const args = ['--import=tsx', program, library, address, proxy.connectString, lock, how];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    createInterface(child.stdout).on('line', (line) => {
      const said = JSON.parse(line) as Said;
      if (said.at !== 'in') outcomes.set(said.id, said.at === 'done' ? 'done' : said.code);
      hear(said);
    });
    return child;
  };
  let child = begin();
  const over = new AbortController();
  const mutex = new InterProcessMutex(client, lock);
  const writer = (async () => {
    for (let number = 0; !over.signal.aborted; number++) {
      await using hold = await mutex.acquire();
      const id = `own-${number}`;
      const text = (part: string): string => `${hold.fencingToken} ${part} ${id}`;
      const job = (write: (text: string) => void | Promise<void>): void | Promise<void> => {
        const begun = write(text('begin'));
        return begun instanceof Promise ? begun.then(() => write(text('end'))) : write(text('end'));
      };
      try {
        if (how === 'guarded') await desk.fenced(hold, job);
        else await desk.unguarded(async (write) => job(write));
        outcomes.set(id, 'done');
      } catch (error) {
        outcomes.set(id, String((error as { code?: unknown }).code ?? error));
      }
      await sleep(50);
    }
  })();
  try {
    for (const fault of rounds) {
      await heard(child, (listener) => (hear = listener));
      await sleep(Math.random() * 150);
      switch (fault) {
        case 'stopped':
          child.kill('SIGSTOP');
          await sleep(2 * sessionTimeoutMs);
          child.kill('SIGCONT');
          break;
        case 'partitioned':
          proxy.silence();
          await sleep(2 * sessionTimeoutMs);
          proxy.cut();
          proxy.speak();
          break;
        case 'killed':
          child.kill('SIGKILL');
          await once(child, 'exit');
          child = begin();
      }
    }
    await heard(child, (listener) => (hear = listener));
  } finally {
    over.abort();
    child.kill('SIGKILL');
    await writer;
  }
  return { written: await desk.written(), outcomes };
}

type Contestant = ChildProcessByStdio<null, Readable, null>;

/** Resolves when the contestant is in a transaction that began after the call. */
async function heard(child: Contestant, listen: (listener: (said: Said) => void) => void): Promise<void> {
  await Promise.race([
    new Promise<void>((resolve) => listen(({ at }) => (at === 'in' ? resolve() : undefined))),
    once(child, 'exit').then(() => Promise.reject(new Error('the contestant has ended'))),
    sleep(contestantLimitMs, undefined, { ref: false }).then(() =>
      Promise.reject(new Error('the contestant does not write')),
    ),
  ]);
}

/** The mistakes of a contest, as sentences. */
export function mistakesOf({ written, outcomes }: Contest): string[] {
  const mistakes: string[] = [];
  const lines = written.map((text) => text.split(' ') as [string, string, string]);
  lines.forEach(([token, part, id], index) => {
    const [before, , idBefore] = lines[index - 1] ?? ['0', '', ''];
    if (BigInt(token) < BigInt(before))
      mistakes.push(`${id} with token ${token} was stored after ${idBefore} with ${before}`);
    const [, , other] = lines[part === 'begin' ? index + 1 : index - 1] ?? [];
    if (other !== id) mistakes.push(`${part} of ${id} was stored alone`);
    const outcome = outcomes.get(id);
    if (outcome !== undefined && !['done', 'ERR_LOCK_OUTCOME_UNKNOWN'].includes(outcome))
      mistakes.push(`${id} was stored, and reported ${outcome}`);
  });
  const stored = new Set(lines.map(([, , id]) => id));
  for (const [id, outcome] of outcomes)
    if (outcome === 'done' && !stored.has(id)) mistakes.push(`${id} was reported as done, and is not stored`);
  return mistakes;
}
