import { performance } from 'node:perf_hooks';

/**
 * Cycles of acquire and release by so many owners for some seconds: how many in a second, and how many in a second of this
 * process's CPU. Only the latter is of use on a machine that does other work.
 *
 * @param {(owner: number) => { acquire(): Promise<{ release(): Promise<unknown> }> }} lockOf
 * @param {number} seconds
 * @param {number} [owners]
 */
export async function cycles(lockOf, seconds, owners = 64) {
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  const cpu = process.cpuUsage();
  let count = 0;
  const work = async (owner) => {
    const lock = lockOf(owner);
    while (performance.now() < until) {
      const hold = await lock.acquire();
      await hold.release();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: owners }, (_, owner) => work(owner)));
  const { user, system } = process.cpuUsage(cpu);
  return {
    perSecond: count / ((performance.now() - startedAt) / 1_000),
    perCpuSecond: count / ((user + system) / 1e6),
  };
}

export function median(list) {
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

/** The median of the ratios and their range, as text: `median of 10 ratios -1.2 %, from -3.0 % to +0.4 %`. */
export function ratiosText(ratios) {
  const sorted = [...ratios].sort((a, b) => a - b);
  const range = `from ${percent(sorted[0])} to ${percent(sorted.at(-1))}`;
  return `median of ${ratios.length} ratios ${percent(median(ratios))}, ${range}`;
}

function percent(ratio) {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`;
}
