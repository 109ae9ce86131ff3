import { expect } from 'chai';
import { InterProcessSemaphore } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { setAcl } from './acl.ts';
import { check, levelOf } from './zklock-check.ts';

describe('zklock check', () => {
  const lab = labOfEachTest('checked');

  it('leaves nothing behind, and does not touch a lock', async () => {
    const hold = await lab.theirs.acquire();
    const before = await lab.observer.children(lab.path);
    const checked = await check(lab.connectString, lab.path);
    expect(levelOf(checked, 'clocks')).to.equal('unknown');
    expect(await lab.observer.children(lab.path)).to.deep.equal(before);
    await check(lab.connectString, '/');
    expect((await lab.observer.children('/')).filter((name) => name.includes('check'))).to.deep.equal([]);
    await hold.release();
  });

  it('does not touch a semaphore, whose znode has no participants of its own', async () => {
    const semaphore = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
    const lease = await semaphore.acquire();
    for (const path of [lab.path, `${lab.path}/missing`])
      expect(levelOf(await check(lab.connectString, path), 'clocks'), path).to.equal('unknown');
    await lease.release();
  });

  it('says which right is missing, and exits with 77', async () => {
    const hold = await lab.theirs.acquire();
    for (const [permissions, subject] of [
      [31 - 4, 'right to create'],
      [31 - 8, 'right to delete'],
    ] as const) {
      await setAcl(lab.other, lab.path, permissions);
      const checked = await check(lab.connectString, lab.path);
      expect(checked.code, subject).to.equal(77);
      expect(levelOf(checked, subject)).to.equal('fail');
    }
    await setAcl(lab.other, lab.path, 31);
    await hold.release();
  });

  it('exits with 69 if no server is reachable, and tells one that is not', async () => {
    const none = await check('127.0.0.1:1', '--connect-timeout', '0.3');
    expect(none.code).to.equal(69);
    expect(levelOf(none, 'connection')).to.equal('fail');
    const one = await check(`127.0.0.1:1,${lab.connectString}`);
    expect(levelOf(one, 'server 127.0.0.1:1')).to.equal('fail');
    expect(levelOf(one, 'connection')).to.equal('ok');
  });
});
