import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { until } from '../../lab/until.ts';
import {
  createContainer,
  createEphemeral,
  createPersistent,
  exists,
  openAcl,
  remove,
} from '../../src/zookeeper/wire/operations.ts';
import { createInTransaction, multi } from '../../src/zookeeper/wire/transaction.ts';
import { probeOfEachTest } from './probe.ts';

const none = new Uint8Array(0);

describe('a real server whose reaper looks every 10 ms', () => {
  const lab = probeOfEachTest({
    containerCheckMs: 10,
    javaOptions: ['-Dzookeeper.extendedTypesEnabled=true'],
  });
  const { ask, codeOf } = lab;
  let container: string;
  let child: string;

  beforeEach(async () => {
    container = `${lab.path}/container`;
    child = `${container}/child`;
    await ask(createContainer(container, openAcl));
  });

  const gone = (path: string): Promise<void> =>
    until(`${path} is gone`, async () => (await codeOf(exists(path))) === 'NO_NODE');

  /** Resolves when the reaper has looked at all containers since the call: it has reaped another one. */
  const reaped = async (): Promise<void> => {
    const other = `${lab.path}/other`;
    await ask(createContainer(other, openAcl));
    await ask(createEphemeral(`${other}/child`, none, openAcl));
    await ask(remove(`${other}/child`));
    await gone(other);
  };

  it('deletes a container whose last child is gone', async () => {
    await ask(createEphemeral(child, none, openAcl));
    await ask(remove(child));
    await gone(container);
  });

  it('keeps a container that never had a child, and one that has a child', async () => {
    const full = `${lab.path}/full`;
    await ask(createContainer(full, openAcl));
    await ask(createEphemeral(`${full}/child`, none, openAcl));
    await reaped();
    await reaped();
    for (const path of [container, full]) expect(await codeOf(exists(path))).to.equal('done');
  });

  it('keeps a persistent parent, also when its last child is gone', async () => {
    const parent = `${lab.path}/parent`;
    await ask(createPersistent(parent, openAcl));
    await ask(createEphemeral(`${parent}/child`, none, openAcl));
    await ask(remove(`${parent}/child`));
    await reaped();
    expect(await codeOf(exists(parent))).to.equal('done');
  });

  it('deletes containers one in another, from the inside', async () => {
    const inner = `${container}/inner`;
    await ask(createContainer(inner, openAcl));
    await ask(createEphemeral(`${inner}/child`, none, openAcl));
    await ask(remove(`${inner}/child`));
    await gone(inner);
    await gone(container);
  });

  it('deletes a container whose last child belonged to a session that has ended', async () => {
    const other = await lab.connect({ sessionTimeoutMs: 3_000 });
    await ask(createEphemeral(child, none, openAcl), other);
    other[Symbol.dispose]();
    await gone(container);
  });

  it('deletes a znode whose time to live is over, and that has no child', async () => {
    const path = `${lab.path}/with-ttl`;
    const answer = await ask(multi(createInTransaction(path, none, openAcl, 'persistentWithTtl', 1)));
    expect(answer.is).to.equal('done');
    await gone(path);
  });

  it('deletes the lock of a released mutex with its parents, and the next acquire creates them again', async () => {
    await using client = await LockClient.connect(lab.server.connectString);
    const path = `${lab.path}/orders/42`;
    const mutex = new InterProcessMutex(client, path);
    for (let round = 0; round < 3; round += 1) {
      const hold = await mutex.acquire();
      expect(await codeOf(exists(path))).to.equal('done');
      await hold.release();
      await gone(path);
      await gone(`${lab.path}/orders`);
    }
  });

  it('takes no lock from its owners while it deletes the parents between two acquires', async () => {
    await using client = await LockClient.connect(lab.server.connectString);
    const path = `${lab.path}/busy/lock`;
    let holders = 0;
    const work = async (): Promise<void> => {
      for (let round = 0; round < 20; round += 1) {
        await new InterProcessMutex(client, path).withLock(async () => {
          expect((holders += 1)).to.equal(1);
          await new Promise((resolve) => setImmediate(resolve));
          holders -= 1;
        });
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    await Promise.all([work(), work(), work()]);
  });
});
