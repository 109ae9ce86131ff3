import { expect } from 'chai';
import { InterProcessMutex, retryNTimes, ZooKeeperError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { answered, sent } from '../../../lab/proxy/frame-matches.ts';

const noNode = -101;
const systemError = -1;

describe('TestLockInternals', () => {
  const lab = labOfEachTest('internals', {
    server: 'own',
    proxy: true,
    client: { sessionTimeoutMs: 10_000, retryPolicy: retryNTimes(0, 0) },
  });

  const emptyLock = async (name: string): Promise<string> => {
    const path = testPath(name);
    await lab.observer.create(path.slice(0, path.lastIndexOf('/')));
    await lab.observer.create(path);
    return path;
  };

  for (const [fault, error, code] of [
    ['NoNode', noNode, 'NO_NODE'],
    ['a system error', systemError, 'SYSTEM_ERROR'],
  ] as const)
    it(`testNodeDeletedCleanlyWithFaults: ${fault} from the list rejects, and no znode is left`, async () => {
      const path = await emptyLock('faults');
      lab.proxy.on((frame) =>
        answered('getChildren2')(frame) && frame.path === path ? { replaceError: error } : undefined,
      );
      const failed = await rejection(new InterProcessMutex(lab.client, path).acquire({ timeoutMs: 5_000 }));
      expect(failed.code).to.equal('ERR_LOCK_REQUEST_FAILED');
      expect(failed.cause).to.be.instanceOf(ZooKeeperError).with.property('code', code);
      expect(lab.proxy.frames.filter(sent('create2')).length).to.be.greaterThan(0);
      await lab.queueReaches(0, path);
    });

  it('testAttemptLockFailedException: the list’s error rejects, even if the clean-up fails', async () => {
    const path = await emptyLock('failed-exception');
    lab.proxy.on((frame) => {
      if (!answered('getChildren2')(frame) || frame.path !== path) return undefined;
      void lab.proxy.refuse();
      lab.proxy.on((later) => (later.from === 'client' ? 'cut' : undefined));
      return { replaceError: noNode };
    });
    const failed = await rejection(new InterProcessMutex(lab.client, path).acquire({ timeoutMs: 5_000 }));
    expect(failed.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(failed.cause).to.be.instanceOf(ZooKeeperError).with.property('code', 'NO_NODE');
  });
});
