import { monitorEventLoopDelay } from 'node:perf_hooks';
import type * as lib from '../src/index.ts';
import { InterProcessMutex, LockClient } from './library.ts';
import { median } from './statistics.ts';

export interface StickyResults {
  readonly solo: Load;
  readonly threads64: Load;
  /**
   * Two clients of 16 owners each contend all the time. `ratio`: cycles per second with sticky locks divided by those
   * without. `luck`: grants of the luckier client divided by those of the other.
   */
  readonly contended: { readonly ratio: number; readonly luck: number };
}

interface Load {
  readonly cyclesPerSecond: number;
  readonly loopDelayP99Ms: number;
  /** From an acquire of another client during the run to its grant. */
  readonly remoteServedMs: number;
}

const sticky = { idleMs: 60_000 };
let paths = 0;

/** Measures the gain of sticky locks, and their cost when other clients want the lock. */
export async function measureSticky(connectString: string, durationMs: number, rounds: number): Promise<StickyResults> {
  const [client, other] = await Promise.all([LockClient.connect(connectString), LockClient.connect(connectString)]);
  const path = (): string => `/bench/sticky-${(paths += 1)}`;
  const contended = async (options: { sticky?: { idleMs: number } }): Promise<[number, number]> => {
    const shared = path();
    const both = await Promise.all(
      [client, other].map((one) => cycles(new InterProcessMutex(one, shared, options), 16, durationMs)),
    );
    return [both[0] ?? 0, both[1] ?? 0];
  };
  const ratios: number[] = [];
  const lucks: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const kept = await contended({ sticky });
    const usual = await contended({});
    ratios.push((kept[0] + kept[1]) / (usual[0] + usual[1]));
    lucks.push(Math.max(...kept) / Math.max(1, Math.min(...kept)));
  }
  const results = {
    solo: await load(client, other, path(), 1, durationMs, rounds),
    threads64: await load(client, other, path(), 64, durationMs, rounds),
    contended: { ratio: median(ratios), luck: median(lucks) },
  };
  await Promise.all([client.close(), other.close()]);
  return results;
}

async function load(
  client: lib.LockClient,
  other: lib.LockClient,
  path: string,
  owners: number,
  durationMs: number,
  rounds: number,
): Promise<Load> {
  const mutex = new InterProcessMutex(client, path, { sticky });
  await cycles(mutex, owners, durationMs / 3);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const speeds: number[] = [];
  for (let round = 0; round < rounds; round += 1)
    speeds.push((await cycles(mutex, owners, durationMs)) / (durationMs / 1_000));
  delay.disable();
  const served: number[] = [];
  const busy = cycles(mutex, owners, durationMs);
  const until = performance.now() + durationMs * 0.9;
  const remote = new InterProcessMutex(other, path);
  while (performance.now() < until) {
    const askedAt = performance.now();
    const hold = await remote.acquire();
    served.push(performance.now() - askedAt);
    await hold.release();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await busy;
  return {
    cyclesPerSecond: median(speeds),
    loopDelayP99Ms: delay.percentile(99) / 1e6,
    remoteServedMs: median(served),
  };
}

async function cycles(mutex: lib.InterProcessMutex, owners: number, durationMs: number): Promise<number> {
  const until = performance.now() + durationMs;
  let count = 0;
  const owner = async (): Promise<void> => {
    while (performance.now() < until) {
      await (await mutex.acquire()).release();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: owners }, owner));
  return count;
}
