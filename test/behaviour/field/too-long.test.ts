import { expect } from 'chai';
import { InterProcessMutex, type Hold, type LockClient } from '../../../src/index.ts';
import { longestFrame } from '../../../src/zookeeper/wire/frames.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { longerList } from '../../../lab/proxy/longer-list.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { rejection } from '../../../lab/until.ts';
import { queueReaches } from '../../../lab/queue.ts';
import { awaitedLater, statesOf } from './support.ts';

const waiterName = (index: number): string =>
  `_c_24fbea0a-aed6-4c73-9226-c5d2af4d6939-lock-${String(index - 2 ** 30).padStart(10, '0')}`;

describe('FIELD B3: an answer that is too long to be read', () => {
  const lab = labOfEachTest('too-long', { server: 'own', proxy: true, client: { sessionTimeoutMs: 10_000 } });
  let client: LockClient;
  let beside: Hold;
  let long: InterProcessMutex;

  beforeEach(async () => {
    ({ client } = lab);
    beside = await new InterProcessMutex(client, `${lab.path}-beside`).acquire();
    long = new InterProcessMutex(client, `${lab.path}-long`);
    await (await long.acquire()).release();
  });

  const answersWith = (count: number, nameOf: (index: number) => string): void => {
    const isOfLock = (frame: Frame): boolean => answered('getChildren2')(frame) && frame.path === long.path;
    lab.proxy.on((frame) => (isOfLock(frame) ? { replaceWith: longerList(frame, count, nameOf) } : undefined));
  };

  for (const [what, count, nameOf, says] of [
    [
      '131,073 short names',
      131_073,
      (index: number) => `lock-${index}`,
      /The answer has 13107\d names, and at most 131072 names are read/,
    ],
    ['a list of 9 MB', 150_000, waiterName, /The answer has 9\d{6} bytes, and at most 8388608 bytes are read/],
  ] as const)
    it(`${what}: each call is one download and one error, and the connection stays`, async () => {
      const states = statesOf(client);
      answersWith(count, nameOf);
      for (const call of [() => long.participants(), () => long.holder(), () => long.acquire()]) {
        lab.proxy.clear();
        const error = await rejection(call());
        expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
        expect(error.message).to.contain(long.path);
        expect(error.message).to.match(says);
        expect(lab.proxy.frames.filter(sent('getChildren2'))).to.have.length(1);
        expect(lab.proxy.frames.filter(sent('connect'))).to.have.length(0);
      }
      expect(states).to.deep.equal([]);
      expect(beside.isValid).to.equal(true);
      await lab.sleep(1_000);
      expect(await lab.observer.children(long.path)).to.deep.equal([]);
    });

  it('to a create: the outcome is looked up on the next connection, and nothing is left behind', async () => {
    once(lab.proxy, answered('create2'), ({ body }) => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(longestFrame + 1);
      return { replaceWith: Buffer.concat([length, body]) };
    });
    const hold = await long.acquire();
    expect(await lab.observer.children(long.path)).to.deep.equal([hold.path.slice(long.path.length + 1)]);
    await hold.release();
    expect(await lab.observer.children(long.path)).to.deep.equal([]);
    expect(beside.isValid).to.equal(true);
  });

  it('is none with 100,000 waiters: an acquire queues up behind them', async () => {
    answersWith(100_001, waiterName);
    expect(100_001 * (4 + waiterName(0).length)).to.be.below(longestFrame);
    // The waiter watches two znodes, which exist.
    const first = await new InterProcessMutex(lab.other, long.path).acquire();
    const second = awaitedLater(new InterProcessMutex(await lab.connect({}, lab.connectString), long.path).acquire());
    await queueReaches(new InterProcessMutex(lab.other, long.path), 2);
    const error = await rejection(long.acquire({ timeoutMs: 2_000 }));
    expect(error).to.include({ code: 'ERR_LOCK_TIMEOUT', reason: 'contention', position: 100_003 });
    await first.release();
    await (await second).release();
    expect(beside.isValid).to.equal(true);
  });
});
