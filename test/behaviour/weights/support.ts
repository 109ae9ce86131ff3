import type { Hold, InterProcessMutex } from '../../../src/index.ts';
import { until } from '../../../lab/until.ts';
import type { Lab } from '../../../lab/lab.ts';

export interface Wanted {
  readonly by: InterProcessMutex;
  readonly weight: number;
  readonly name: string;
}

/**
 * Queues up the acquires one after the other, and resolves when all wait. `served` resolves with the order of the
 * grants; each hold is released at once. The next acquire begins when `lined` has settled.
 */
export async function lineUp(
  { observer, path }: Pick<Lab, 'observer' | 'path'>,
  wanted: readonly Wanted[],
  lined: (count: number) => Promise<unknown> = () => Promise.resolve(),
): Promise<{ readonly served: () => Promise<string[]> }> {
  const grants: string[] = [];
  const done: Promise<unknown>[] = [];
  for (const [index, { by, weight, name }] of wanted.entries()) {
    const before = (await observer.children(path)).length;
    const serve = (hold: Hold): Promise<unknown> => {
      grants.push(name);
      return hold.release();
    };
    done.push(by.acquire({ weight }).then(serve));
    await until(`${name} is queued`, async () => (await observer.children(path)).length === before + 1);
    await lined(index + 1);
  }
  return { served: () => Promise.all(done).then(() => grants) };
}

export async function isEmpty({ observer, path }: Pick<Lab, 'observer' | 'path'>): Promise<void> {
  await until('the queue is empty', async () => (await observer.children(path)).length === 0);
}
