import { expect } from 'chai';
import {
  ForeignDataError,
  ForeignNodeError,
  InterProcessMutex,
  InterProcessSemaphore,
  StandardDriver,
  type AcquireOptions,
  type InterProcessMutexOptions,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection, until } from '../../../lab/until.ts';
import { isEmpty } from './support.ts';

const weights = {};

describe('weights and foreign znodes', () => {
  const lab = labOfEachTest('weights-foreign');

  it('and a plain mutex on the same path refuse each other, in either order', async () => {
    const weighted = new InterProcessMutex(lab.client, lab.path, { weights });
    const plain = new InterProcessMutex(lab.other, lab.path);
    for (const [first, second] of [
      [weighted, plain],
      [plain, weighted],
    ] as const) {
      const hold = await first.acquire();
      for (const call of [
        () => second.acquire(),
        () => second.tryAcquire(),
        () => second.acquire({ timeoutMs: 5_000 }),
        () => second.isLocked(),
      ]) {
        const error = await rejection(call());
        expect(error)
          .to.be.instanceOf(ForeignNodeError)
          .with.property('message')
          .that.contains(hold.path.split('/').at(-1) ?? '');
      }
      expect(hold.isValid).to.equal(true);
      await lab.queueReaches(1);
      await hold.release();
    }
    await isEmpty(lab);
  });

  it('keep a plain mutex out that waits behind unknown znodes, as Java does', async () => {
    const weighted = new InterProcessMutex(lab.client, lab.path, { weights });
    const plain = new InterProcessMutex(lab.other, lab.path, { foreignNodes: 'wait' });
    const hold = await weighted.acquire();
    const waiting = plain.acquire();
    await lab.queueReaches(2);
    await until('the plain mutex watches the holder', () =>
      lab.other.session.watches.paths('data').includes(hold.path),
    );
    await hold.release();
    await (await waiting).release();
  });

  it('refuse a lock znode with foreign data, and leave the data unchanged', async () => {
    // Not a container, which the servers might delete while it is empty.
    await lab.observer.create(lab.path.slice(0, lab.path.lastIndexOf('/')));
    await lab.observer.create(lab.path);
    const mutex = new InterProcessMutex(lab.client, lab.path, { weights });
    await (await mutex.acquire()).release();
    await lab.observer.write(lab.path, '10.0.0.7');
    for (const refused of [rejection(mutex.acquire()), rejection(mutex.tryAcquire()), rejection(mutex.holder())]) {
      const error = await refused;
      expect(error).to.be.instanceOf(ForeignDataError).with.property('code', 'ERR_LOCK_FOREIGN_DATA');
      expect(error.message).to.contain(lab.path).and.to.contain('10.0.0.7');
    }
    expect(await lab.observer.read(lab.path)).to.equal('10.0.0.7');
    await isEmpty(lab);
    expect(await mutex.participants()).to.deep.equal([]);
  });

  it('do not grant the lock if its data was erased, until the queue is empty', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path, { weights });
    const hold = await new InterProcessMutex(lab.other, lab.path, { weights }).acquire();
    await lab.observer.touch(lab.path);
    for (const call of [() => mutex.holder(), () => mutex.isLocked(), () => mutex.acquire()])
      expect(await rejection(call()))
        .to.be.instanceOf(ForeignDataError)
        .with.property('message')
        .that.contains('they are empty now');
    expect(hold.isValid).to.equal(true);
    await hold.release();
    await using next = await mutex.acquire();
    expect(next.fencingToken > hold.fencingToken).to.equal(true);
  });

  it('accept a claim that outlived its holder, and a znode that was created before the lock', async () => {
    const [parent = ''] = /^\/[^/]+/.exec(lab.path) ?? [];
    await lab.observer.create(parent);
    await lab.observer.create(lab.path);
    const mutex = new InterProcessMutex(lab.client, lab.path, { weights });
    const first = await mutex.acquire();
    await first.release();
    expect(await lab.observer.read(lab.path)).to.contain(first.path.split('/').at(-1) ?? '');
    await using second = await mutex.acquire();
    expect(second.fencingToken > first.fencingToken).to.equal(true);
  });

  it('refuse invalid input before anything is sent, and name option, value and accepted values', async () => {
    const make = (options: unknown): InterProcessMutex =>
      new InterProcessMutex(lab.client, lab.path, options as InterProcessMutexOptions);
    expect(() => make({ weights, sticky: { idleMs: 5 } })).to.throw(TypeError, /sticky.*weights/);
    expect(() => make({ weights, foreignNodes: 'wait' })).to.throw(TypeError, /foreignNodes.*weights.*"wait"/);
    expect(() => make({ weights, driver: new StandardDriver() })).to.throw(
      TypeError,
      /driver.*weights.*StandardDriver/,
    );
    for (const overtakesPerWeight of [0, -1, 1.5, 100, NaN, Infinity]) {
      expect(() => make({ weights: { overtakesPerWeight } })).to.throw(
        RangeError,
        `\`weights.overtakesPerWeight\` to be a whole number from 1 to 99, got ${overtakesPerWeight}`,
      );
    }
    expect(() => make({ weights: { overtakesPerWeight: '5' } })).to.throw(TypeError, 'overtakesPerWeight');
    expect(() => make({ weights: { limit: 5 } })).to.throw(TypeError, '`limit`');
    const mutex = make({ weights });
    for (const weight of [0, 11, -1, 1.5, NaN, Infinity]) {
      for (const call of [
        mutex.acquire({ weight }),
        mutex.tryAcquire({ weight }),
        mutex.withLock(() => 1, { weight }),
      ]) {
        expect(await rejection(call))
          .to.be.instanceOf(RangeError)
          .with.property('message')
          .that.contains('`weight`')
          .and.contains('from 1 to 10')
          .and.contains(String(weight));
      }
    }
    for (const weight of ['5', null, {}, 5n] as unknown as number[]) {
      expect(await rejection(mutex.acquire({ weight })))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.contains('`weight`');
    }
    for (const call of [
      make({}).acquire({ weight: 5 }),
      make({}).tryAcquire({ weight: 5 }),
      make({ sticky: { idleMs: 5 } }).withLock(() => 1, { weight: 5 }),
    ]) {
      expect(await rejection(call))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.contains('`weight`')
        .and.contains('{ weights: {} }');
    }
    const semaphore = new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 1 });
    expect(await rejection(semaphore.acquire({ weight: 5 } as AcquireOptions)))
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.contains('`weight`');
    expect(await rejection(mutex.tryAcquire({ signal: 5 } as object)))
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.contains('`signal`');
    expect(await lab.observer.exists(lab.path)).to.equal(false);
  });
});
