import { expect } from 'chai';
import { setImmediate } from 'node:timers/promises';
import { InterProcessMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';

describe('the first use of a path', () => {
  const lab = labOfEachTest('first-use', { server: 'own', proxy: true });

  for (const [whose, isFirst] of [
    ['by a new client', true],
    ['after an earlier one', false],
  ] as const)
    it(`${whose} keeps the order of the calls, even of one during the refusal of another`, async () => {
      if (!isFirst) await (await new InterProcessMutex(lab.client, testPath('known')).acquire()).release();
      const mutex = new InterProcessMutex(lab.client, testPath('first-use'));
      const order: string[] = [];
      const job = (name: string): Promise<void> => mutex.withLock(() => void order.push(name));
      let arrive = (): void => undefined;
      const delayUntil = new Promise<void>((resolve) => (arrive = resolve));
      let refusals = 0;
      lab.proxy.on((frame) =>
        frame.from === 'server' && frame.op === 'create2' && (refusals += 1) === 2 ? { delayUntil } : undefined,
      );
      lab.proxy.clear();
      const both = [job('first'), job('second')];
      await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'createContainer');
      const third = job('third');
      // The third call may send its requests within this tick.
      for (const _ of [1, 2, 3]) await setImmediate();
      arrive();
      await Promise.all([...both, third]);
      expect(order).to.deep.equal(['first', 'second', 'third']);
    });
});
