import { expect } from 'chai';
import { InterProcessSemaphore } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { sent } from '../../../lab/proxy/frame-matches.ts';
import { setAcl } from './acl.ts';
import { until } from '../../../lab/until.ts';
import { sessionsOn } from '../field/support.ts';
import { check, levelOf } from './zklock-check.ts';

describe('zklock check', () => {
  const lab = labOfEachTest('checked');

  it('leaves nothing behind, and does not touch a lock', async () => {
    await using _hold = await lab.theirs.acquire();
    const before = await lab.observer.children(lab.path);
    const checked = await check(lab.connectString, lab.path);
    expect(levelOf(checked, 'clocks')).to.equal('unknown');
    expect(await lab.observer.children(lab.path)).to.deep.equal(before);
    await check(lab.connectString, '/');
    expect((await lab.observer.children('/')).filter((name) => name.includes('check'))).to.deep.equal([]);
  });

  it('does not touch a semaphore, whose znode has no participants of its own', async () => {
    const semaphore = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
    await using _lease = await semaphore.acquire();
    for (const path of [lab.path, `${lab.path}/missing`])
      expect(levelOf(await check(lab.connectString, path), 'clocks'), path).to.equal('unknown');
  });

  it('says which right is missing, and exits with 77', async () => {
    await using _hold = await lab.theirs.acquire();
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

describe('zklock check of a server that ends the connection at', () => {
  const lab = labOfEachTest('check-lacking', { server: 'own', proxy: true, client: 'none' });

  for (const op of ['create2', 'multi', 'setWatches', 'removeWatches', 'createContainer'] as const)
    it(`${op}: it says so, exits with 70, and leaves nothing behind`, async () => {
      lab.proxy.on((frame) => (sent(op)(frame) ? 'cut' : undefined));
      const checked = await check(lab.proxy.connectString);
      // The proxy passes no four-letter word on.
      const failed = checked.findings.filter(({ level, subject }) => level === 'fail' && !subject.startsWith('server'));
      expect(failed).to.have.length(1);
      expect(failed[0]?.text).to.include(
        `127.0.0.1:${lab.proxy.port} ends each connection on which it gets the request ${op}`,
      );
      expect(failed[0]?.subject).to.equal(op === 'createContainer' ? 'containers' : 'operations');
      expect(checked.code).to.equal(70);
      expect((await lab.observer.children('/')).filter((name) => name.includes('check'))).to.deep.equal([]);
    });
});

describe('zklock check of a server', () => {
  const full = labOfEachTest('check-full', { server: { config: { maxClientCnxns: 4 } }, client: 'none' });

  it('that has no room for a second connection: it warns', async () => {
    await full.connect({}, full.connectString);
    const checked = await check(full.connectString);
    expect(levelOf(checked, 'second connection')).to.equal('warn');
    expect(levelOf(checked, 'connection')).to.equal('ok');
    expect(checked.code).to.equal(0);
  });
});

describe('zklock check of an imitation of ClickHouse Keeper', () => {
  const lab = labOfEachTest('check-keeper', { server: { keeper: 'containers' }, client: 'none' });

  it('warns that it does not resume sessions, and leaves no session behind', async () => {
    const before = (await sessionsOn(lab)).size;
    const checked = await check(lab.connectString);
    expect(levelOf(checked, 'resumption')).to.equal('warn');
    expect(levelOf(checked, 'second connection')).to.equal('ok');
    expect(checked.code).to.equal(0);
    await until('its sessions have ended', async () => (await sessionsOn(lab)).size === before, 1_000);
  });
});
