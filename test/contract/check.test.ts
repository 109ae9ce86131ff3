import { expect } from 'chai';
import { labOfEachTest } from '../../lab/lab.ts';
import { needs } from '../../lab/skip-without.ts';
import { startEnsemble, type Ensemble } from '../../lab/servers/zookeeper-server.ts';
import { check, levelOf } from '../behaviour/operator/zklock-check.ts';

describe('zklock check of the settings of servers', () => {
  const lab = labOfEachTest('checked', { server: { config: { '4lw.commands.whitelist': 'srvr, conf, mntr' } } });

  it('finds a single one suitable, and says that one server is not enough', async function () {
    needs(this, 'addWatch');
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
      'second connection': 'ok',
      resumption: 'ok',
      session: 'ok',
      operations: 'ok',
      ensemble: 'warn',
      'right to list': 'ok',
      'right to create and delete': 'ok',
      clocks: 'ok',
      containers: 'ok',
    });
  });

  describe('of an ensemble', () => {
    let ensemble: Ensemble;
    before(async () => (ensemble = await startEnsemble(3, { config: { maxClientCnxns: 60 } })));
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
