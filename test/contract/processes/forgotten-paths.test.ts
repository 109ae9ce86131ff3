import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';

describe('the memory of a process', () => {
  const lab = labOfEachTest('forgotten-paths', { server: 'own' });

  let collectGarbage: () => void;
  before(() => {
    setFlagsFromString('--expose-gc');
    collectGarbage = runInNewContext('gc') as () => void;
  });

  it('keeps no listener of a lock whose path was used once', async () => {
    const visit = async (index: number): Promise<WeakRef<() => void>> => {
      const mutex = new InterProcessMutex(lab.client, `${lab.path}/${index}`);
      const heard = (): void => undefined;
      mutex.on('released', heard);
      await mutex.withLock(() => undefined);
      return new WeakRef(heard);
    };
    const listeners = await Promise.all(Array.from({ length: 20 }, (_, index) => visit(index)));
    await lab.sleep(1);
    collectGarbage();
    expect(listeners.filter((listener) => listener.deref() !== undefined)).to.be.empty;
  });

  it('keeps nothing of 2,000 paths that were used once', async () => {
    const settledHeap = (): number => (collectGarbage(), collectGarbage(), process.memoryUsage().heapUsed);
    const visit = async (from: number, to: number): Promise<void> => {
      for (let index = from; index < to; index += 100) {
        await Promise.all(
          Array.from({ length: 100 }, (_, offset) =>
            lab.client.withLock(`${lab.path}/${index + offset}`, () => undefined),
          ),
        );
      }
    };
    await lab.client.withLock(lab.path, () => undefined);
    await visit(0, 1_000);
    const before = settledHeap();
    await visit(1_000, 3_000);
    const perPath = (settledHeap() - before) / 2_000;
    expect(perPath, `${perPath} bytes for each path`).to.be.below(500);
  });
});
