import { expect } from 'chai';
import { InterProcessSemaphore } from '../../../src/index.ts';
import type { Finding } from '../../../src/cli/check/finding.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startEnsemble, type Ensemble } from '../../../lab/servers/zookeeper-server.ts';
import { setAcl } from './acl.ts';
import { InProcess } from './in-process.ts';

describe('zklock check', () => {
  const lab = labOfEachTest('checked', { server: { config: { '4lw.commands.whitelist': 'srvr, conf, mntr' } } });
  const check = async (connectString: string, ...words: string[]): Promise<{ code: number; findings: Finding[] }> => {
    const run = new InProcess(connectString, ['check', '--json', ...words]);
    const code = await run.ended;
    return { code, findings: run.out === '' ? [] : (run.json as { findings: Finding[] }).findings };
  };
  const levelOf = ({ findings }: { findings: Finding[] }, subject: string): string | undefined =>
    findings.find((finding) => finding.subject.startsWith(subject))?.level;

  it('finds a single server suitable, and says that one server is not enough', async () => {
    const checked = await check(lab.connectString, '/');
    expect(checked.code).to.equal(0);
    const levels = Object.fromEntries(checked.findings.map(({ subject, level }) => [subject, level]));
    // A busy machine may be slow.
    const { 'read latency': reading, 'write latency': writing, ...others } = levels;
    for (const level of [reading, writing]) expect(level).to.be.oneOf(['ok', 'warn']);
    expect(others).to.deep.equal({
      [`server ${lab.connectString}`]: 'ok',
      versions: 'ok',
      maxClientCnxns: 'ok',
      connection: 'ok',
      session: 'ok',
      ensemble: 'warn',
      'right to list': 'ok',
      'right to create and delete': 'ok',
      clocks: 'ok',
      containers: 'ok',
    });
  });

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

  describe('of an ensemble', function () {
    this.timeout(60_000);
    let ensemble: Ensemble;
    before(async () => {
      ensemble = await startEnsemble(3, { config: { maxClientCnxns: 60 } });
    });
    after(() => ensemble.stop());

    it('shows its members, the limit of connections, and members that the connect string lacks', async () => {
      const all = await check(ensemble.connectString);
      expect(levelOf(all, 'ensemble')).to.equal('ok');
      expect(levelOf(all, 'maxClientCnxns')).to.equal('warn');
      expect(all.findings.filter(({ text }) => /leader|follower/.test(text))).to.have.length.at.least(3);
      expect(levelOf(await check(ensemble.servers[0]?.connectString ?? ''), 'ensemble')).to.equal('warn');
    });
  });
});
