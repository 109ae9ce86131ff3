import { expect } from 'chai';
import { InterProcessMutex, retryNTimes, type AclEntry } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';
import { anyone, permission } from '../../lab/wire/account.ts';

describe('a refusal', () => {
  const lab = labOfEachTest('refusals', { server: 'own', proxy: true, client: 'none' });

  const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

  it('of a znode whose parent is removed repeatedly ends the acquire when the retry policy gives up', async () => {
    const client = await lab.connect({ retryPolicy: retryNTimes(2, 1) });
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'create2' ? { replaceError: -101 } : undefined));
    const error = await rejection(new InterProcessMutex(client, testPath('reaped')).acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.cause).to.have.property('code', 'NO_NODE');
    // One create without parents, one with parents, and two retries.
    expect(lab.proxy.frames.filter((frame) => frame.from === 'client' && frame.op === 'create2')).to.have.length(4);
  });

  it('of a container, after an earlier success, makes the client create persistent parents', async () => {
    const client = await lab.connect();
    const acquire = async (path: string): Promise<void> => {
      await (await new InterProcessMutex(client, path).acquire()).release();
    };
    await acquire(testPath('known'));
    const know = lab.proxy.on((frame) =>
      frame.from === 'server' && frame.op === 'createContainer' ? { replaceError: -6 } : undefined,
    );
    await acquire(testPath('refused'));
    know();
    lab.proxy.clear();
    const path = testPath('persistent');
    await acquire(path);
    const created = lab.proxy.frames.filter(
      ({ from, op }) => from === 'client' && op.startsWith('create') && op !== 'create2',
    );
    expect(created.map(({ op, path: of }) => [op, of])).to.deep.equal([
      ['create', parentOf(path)],
      ['create', path],
    ]);
  });

  it('by the ACL provider for a parent rejects the acquire with its error, and nothing is created', async () => {
    const failure = new Error('no rights for a parent');
    const path = testPath('parent-acl');
    const acl = (of: string): AclEntry[] => {
      if (of === parentOf(path)) throw failure;
      return [anyone(permission.all)];
    };
    const client = await lab.connect({ acl });
    const mutex = new InterProcessMutex(client, path);
    expect(await rejection(mutex.acquire())).to.equal(failure);
    // The first container of a client is sent alone; later ones are sent together.
    await (await new InterProcessMutex(client, testPath('first')).acquire()).release();
    expect(await rejection(mutex.acquire())).to.equal(failure);
    // No acquire waits without a limit behind the one that was to create the parents.
    expect(await rejection(mutex.acquire())).to.equal(failure);
    expect(await lab.observer.exists(parentOf(path))).to.equal(false);
  });

  it('to read a znode of the queue is an error of participants()', async () => {
    const path = testPath('unreadable');
    await lab.observer.create(parentOf(path));
    await lab.observer.create(path);
    const client = await lab.connect({
      acl: (of) => [anyone(of.includes('/_c_') ? permission.write : permission.all)],
    });
    const mutex = new InterProcessMutex(client, path);
    await using _hold = await mutex.acquire();
    const error = await rejection(mutex.participants());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain(`The participants of ${path} cannot be read`);
    expect(error.cause).to.have.property('code', 'NO_AUTH');
  });
});
