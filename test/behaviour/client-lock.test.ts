import { expect } from 'chai';
import {
  InterProcessMutex,
  InvalidPathError,
  LockTimeoutError,
  lockContext,
  type LockClient,
} from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { queueOf } from '../../lab/queue.ts';
import { rejection } from '../../lab/until.ts';
import { gate } from '../../lab/gate.ts';

describe('client.lock', () => {
  const lab = labOfEachTest('client-lock');

  it('acquires the lock of the path until the end of the block', async () => {
    {
      await using hold = await lab.client.lock(lab.path);
      expect(await queueOf(lab.theirs)).to.deep.equal([hold.path]);
      expect(new InterProcessMutex(lab.client, lab.path).isAcquiredInThisProcess).to.equal(true);
      expect(await lab.theirs.tryAcquire()).to.equal(undefined);
    }
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
  });

  it('takes the options of acquire, and is one lock with the objects of its path', async () => {
    const taken = await lab.theirs.acquire();
    expect(await rejection(lab.client.lock(lab.path, { timeoutMs: 50 }))).to.be.instanceOf(LockTimeoutError);
    await taken.release();
    await lockContext.run(async () => {
      await using outer = await lab.client.lock(lab.path, { data: Buffer.from('mine') });
      await using inner = await new InterProcessMutex(lab.client, lab.path).acquire();
      expect([inner.path, inner.isReentrant]).to.deep.equal([outer.path, true]);
    });
  });

  it('refuses a bad path, and another object than a client, before anything is sent', async () => {
    expect(await rejection(lab.client.lock('locks/a'))).to.be.instanceOf(InvalidPathError);
    const { lock } = lab.client;
    expect(await rejection(lock('/locks/a')))
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.includes('client.lock(path)');
  });
});

describe('client.withLock with paths', () => {
  const lab = labOfEachTest('paths');

  const paths = (...names: string[]): string[] => names.map((name) => `${lab.path}-${name}`);
  const queue = async (name: string): Promise<number> => (await lab.observer.children(`${lab.path}-${name}`)).length;

  it('holds all locks in the order of their paths while the job runs, and shares them with other objects', async () => {
    const given = paths('b', 'c', 'a');
    const result = await lab.client.withLock(given, async (hold) => {
      expect(hold.holds.map(({ path }) => path.slice(0, lab.path.length + 2))).to.deep.equal(paths('a', 'b', 'c'));
      await using inner = await lab.client.lock(`${lab.path}-b`);
      expect(inner.isReentrant).to.equal(true);
      for (const path of given) expect(await new InterProcessMutex(lab.other, path).tryAcquire()).to.equal(undefined);
      return 7;
    });
    expect(result).to.equal(7);
    expect(given).to.deep.equal(paths('b', 'c', 'a'));
    expect(await Promise.all(['a', 'b', 'c'].map(queue))).to.deep.equal([0, 0, 0]);
  });

  it('re-enters with the same paths, and takes those that are new', async () => {
    await lab.client.withLock(paths('a', 'b'), () =>
      lab.client.withLock(paths('c', 'b'), async ({ holds }) => {
        expect(holds.map(({ isReentrant }) => isReentrant)).to.deep.equal([true, false]);
        await using all = await lab.client.lock(paths('a', 'c'));
        expect(all.holds.map(({ isReentrant }) => isReentrant)).to.deep.equal([true, true]);
      }),
    );
  });

  it('cannot deadlock with the same paths in another order, of another client', async () => {
    const job = (client: LockClient, ...names: string[]): Promise<number> =>
      client.withLock(paths(...names), () => queue('b'));
    const rounds = Array.from({ length: 10 }, () => [job(lab.client, 'a', 'b'), job(lab.other, 'b', 'a')]).flat();
    expect(Math.max(...(await Promise.all(rounds)))).to.equal(1);
  });

  it('has one deadline, and gives back what it has when that passes', async () => {
    const [a, b] = paths('a', 'b') as [string, string];
    await using _taken = await lab.other.lock(b);
    const error = await rejection(lab.client.withLock([b, a], () => undefined, { timeoutMs: 1_000 }));
    expect(error).to.be.instanceOf(LockTimeoutError).with.property('message').that.includes(b);
    await using hold = await lab.other.lock(a, { timeoutMs: 5_000 });
    expect(hold.isValid).to.equal(true);
  });

  it('takes locks of one path below two chroots as two locks', async () => {
    const [left, right] = await Promise.all(
      ['/l', '/r'].map((chroot) => lab.connect({}, `${lab.connectString}${lab.path}${chroot}`)),
    );
    // Each waits inside for the other one.
    const [insideLeft, insideRight] = [gate(), gate()];
    await Promise.all([
      left?.withLock(['/b', '/a'], () => (insideLeft.open(), insideRight.opened)),
      right?.withLock(['/b', '/a'], () => (insideRight.open(), insideLeft.opened)),
    ]);
  });

  it('refuses no path, a path twice, nested paths and a bad path before anything is sent', async () => {
    const refused = async (...given: unknown[]): Promise<string> => {
      const error = await rejection(lab.client.withLock(given as string[], () => undefined));
      return `${error.name}: ${error.message}`;
    };
    expect(await refused()).to.equal('TypeError: Expected `paths` to be at least one path, got an empty array');
    expect(await refused('/a', '/b', '/a')).to.equal(
      'RangeError: Expected `paths` to be paths that differ, got "/a" twice',
    );
    expect(await refused('/a/b', '/ab', '/a')).to.equal(
      'RangeError: Expected `paths` to be paths of which none is below another, got "/a/b" below "/a"',
    );
    expect(await refused('/a', 'b')).to.match(/^InvalidPathError: .*b/);
    expect(await refused('/a', 7)).to.match(/^InvalidPathError: .*got 7/);
    expect(await rejection(lab.client.withLock(['/a'], 7 as never))).to.be.instanceOf(TypeError);
    expect(await rejection(lab.client.lock([]))).to.be.instanceOf(TypeError);
  });
});
