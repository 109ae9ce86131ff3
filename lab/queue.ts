import type { Hold, InterProcessMutex } from '../src/index.ts';
import type { Observer } from './wire/observer.ts';
import { aborted, until } from './until.ts';

/** The znodes in the queue, the holder's first. */
export async function queueOf(mutex: InterProcessMutex): Promise<string[]> {
  return (await mutex.participants()).map(({ path }) => path);
}

export function queueReaches(mutex: InterProcessMutex, length: number): Promise<void> {
  return until(
    `${length} znodes are in the queue of ${mutex.path}`,
    async () => (await queueOf(mutex)).length === length,
  );
}

/** Deletes a hold's znode, as another client might. Resolves when the hold's signal has aborted. */
export async function takeAway(hold: Hold, observer: Observer): Promise<void> {
  const loss = aborted(hold.signal);
  await observer.remove(hold.path);
  await loss;
}
