// node --import=tsx contestant.ts library address servers lock guarded|unguarded: acquires the lock and writes, again and
// again, and says so. It pauses in the middle of each transaction, so that a fault meets it there.
import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { InterProcessMutex, LockClient } from '../../../../src/index.ts';
import { openDesk, type Library } from './desk.ts';
import type { Said } from './contest.ts';

const [library = '', address = '', servers = '', lock = '', how = ''] = process.argv.slice(2);
const isSynchronous = library.includes('sqlite');
// Without a guard, a fault always meets it in the transaction.
const pausesMs = how === 'guarded' ? [20, 300, 1_200] : [600];
const desk = await openDesk(library as Library, address);
const client = await LockClient.connect(servers, { sessionTimeoutMs: 1_000 });
const mutex = new InterProcessMutex(client, lock);
/** Not the process id: in a thousand rounds, another contestant gets the same. */
const self = randomUUID();

for (let number = 0; ; number++) {
  const hold = await mutex.acquire();
  const { fencingToken: token } = hold;
  const id = `${self}-${number}`;
  const pauseMs = pausesMs[Math.floor(Math.random() * pausesMs.length)] ?? 0;
  const job = (write: (text: string) => void | Promise<void>): void | Promise<void> => {
    const begun = write(`${token} begin ${id}`);
    if (isSynchronous) {
      say({ at: 'in', id });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
      return write(`${token} end ${id}`);
    }
    return Promise.resolve(begun)
      .then(() => say({ at: 'in', id }))
      .then(() => sleep(pauseMs))
      .then(() => write(`${token} end ${id}`));
  };
  try {
    if (how === 'guarded') await desk.fenced(hold, job, library === 'pg' ? { idleTimeoutMs: 700 } : {});
    else await desk.unguarded(async (write) => job(write));
    say({ at: 'done', id });
  } catch (error) {
    // A mistake of this program, which no round would show.
    if (error instanceof TypeError) throw error;
    say({ at: 'refused', id, code: String((error as { code?: unknown }).code ?? error) });
  }
  await hold.release();
}

/** At once: the process may be stopped or killed at any moment. */
function say(what: Said): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}
