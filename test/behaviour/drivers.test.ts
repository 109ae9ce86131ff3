import { expect } from 'chai';
import { InterProcessMutex, LockClient, StandardDriver, type LockDecision, type LockDriver } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection } from '../../lab/until.ts';
import { CriticalSection } from '../../lab/critical-section.ts';
import { queueReaches } from '../../lab/queue.ts';

const standard = new StandardDriver();

/** A driver in which the newest waiter is next, after the oldest, which may hold the lock. */
const lastIsNext: LockDriver = {
  lockName: standard.lockName,
  appendOnly: false,
  sort(children) {
    const [oldest, ...rest] = standard.sort(children);
    return oldest === undefined ? [] : [oldest, ...rest.reverse()];
  },
  decide: (sorted, ours) => standard.decide(sorted, ours),
};

/** A driver with Curator's order in which every waiter watches the first znode. */
const watchTheFirst: LockDriver = {
  lockName: standard.lockName,
  appendOnly: true,
  sort: (children) => standard.sort(children),
  decide([first = ''], ours): LockDecision {
    return ours === first ? { held: true } : { held: false, watch: first };
  },
};

describe('a driver', () => {
  const lab = labOfEachTest('drivers');

  const drivers: Record<string, LockDriver> = {
    'that puts newcomers first': lastIsNext,
    'that makes all waiters watch the first': watchTheFirst,
  };
  for (const [description, driver] of Object.entries(drivers)) {
    for (const [where, numbers] of Object.entries({ 'several sessions': [0, 1, 2], 'one session': [0, 0, 0] }))
      it(`${description} lets one of ${where} in at a time`, async () => {
        const clients = [lab.client, lab.other, await lab.connect()];
        const [holder, ...waiters] = numbers.map(
          (number) => new InterProcessMutex(clients[number] as LockClient, lab.path, { driver }),
        ) as [InterProcessMutex, InterProcessMutex];
        const section = new CriticalSection(holder, waiters.length);
        const hold = await holder.acquire();
        const visits: Promise<void>[] = [];
        for (const waiter of waiters) {
          visits.push(waiter.withLock(() => section.visit()));
          await queueReaches(holder, visits.length + 1);
          // One connection answers in order: the watch is set.
          await waiter.participants();
        }
        await hold.release();
        await Promise.all(visits);
        expect(section).to.deep.include({ visits: 2, most: 1 });
      });
  }

  it('that throws makes the call reject with its error', async () => {
    const failure = new Error('no order');
    const sort = (): never => {
      throw failure;
    };
    const mutex = new InterProcessMutex(lab.client, lab.path, { driver: { ...watchTheFirst, sort } });
    expect(await rejection(mutex.participants())).to.equal(failure);
    expect(await rejection(mutex.acquire())).to.equal(failure);
    await queueReaches(lab.mutex, 0);
  });

  for (const [what, answer, text] of [
    ['decides nothing', { decide: () => undefined }, '`the result of driver.decide` to be { held: true } or'],
    ['decides later', { decide: () => Promise.resolve({ held: true }) }, 'got a Promise'],
    ['has the first waiter wait for nothing', { decide: () => ({ held: false }) }, 'got an object with "held"'],
    ['sorts later', { sort: () => Promise.resolve([]) }, '`the result of driver.sort` to be an array, got a Promise'],
  ] as const) {
    it(`that ${what} makes the call reject, and the text says why`, async () => {
      const driver = { ...watchTheFirst, ...answer } as unknown as LockDriver;
      expect(await rejection(new InterProcessMutex(lab.client, lab.path, { driver }).acquire()))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.contains(text);
      await queueReaches(lab.mutex, 0);
    });
  }

  it('that has a waiter watch itself makes the call reject, and the text says why', async () => {
    await using _hold = await lab.theirs.acquire();
    const decide = (_: readonly string[], ours: string): LockDecision => ({ held: false, watch: ours });
    expect(
      await rejection(new InterProcessMutex(lab.client, lab.path, { driver: { ...watchTheFirst, decide } }).acquire()),
    )
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.contains('`the watch of driver.decide` to be a child that is before the waiter');
    await queueReaches(lab.mutex, 1);
  });

  for (const [lockName, accepted] of [
    ['', 'a non-empty string'],
    [undefined, 'a non-empty string'],
    [7, 'a non-empty string'],
    ['a/b', 'a part of a name, without slashes'],
    ['a\0b', 'a part of a name, without slashes'],
  ] as const)
    it(`is refused with the lock name ${JSON.stringify(lockName)}`, () => {
      const make = (): unknown =>
        new InterProcessMutex(lab.client, '/a', { driver: { ...watchTheFirst, lockName } as LockDriver });
      expect(make).to.throw(TypeError, `Expected \`driver.lockName\` to be ${accepted}, got`);
    });
});
