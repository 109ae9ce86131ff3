import { expect } from 'chai';
import { InterProcessMutex, InterProcessSemaphore, LeaderElection, type Hold } from '../../../src/index.ts';
import { createEphemeral, createPersistent, openAcl } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { sent } from '../../../lab/proxy/frame-matches.ts';
import { awaitedLater } from '../field/support.ts';
import { aborted } from '../../../lab/until.ts';
import { InProcess } from './in-process.ts';

describe('zklock revoke and release', () => {
  const lab = labOfEachTest('taken', { server: 'own', proxy: true });
  const zklock = async (...words: string[]): Promise<InProcess & { readonly code: number }> => {
    const run = new InProcess(lab.connectString, words);
    return Object.assign(run, { code: await run.ended });
  };
  const releasedWhenLost = async (hold: Hold): Promise<void> => {
    await aborted(hold.signal);
    await hold.release();
  };

  for (const protocol of ['latch', 'selector'] as const)
    it(`find the leader of an election with the protocol ${protocol}`, async () => {
      const term = await new LeaderElection(lab.other, lab.path, { protocol }).campaign();
      const asked = await zklock('revoke', lab.path);
      expect([asked.code, asked.out]).to.deep.equal([0, `asked ${term.path}\n`]);
      const released = releasedWhenLost(term);
      const taken = await zklock('release', lab.path);
      expect([taken.code, taken.out]).to.deep.equal([0, `released ${term.path}\n`]);
      await released;
    });

  it('name all holders if there are several, of this library and of kazoo, and touch none', async () => {
    const semaphore = new InterProcessSemaphore(lab.other, `${lab.path}/semaphore`, { maxLeases: 3 });
    const leases = [await semaphore.acquire(), await semaphore.acquire()];
    const { session } = lab.other;
    await session.request(createPersistent(`${lab.path}/kazoo`, openAcl));
    const readers = ['a', 'b'].map((digit, index) => `${lab.path}/kazoo/${digit.repeat(32)}__rlock__000000000${index}`);
    for (const path of readers) await session.request(createEphemeral(path, Buffer.alloc(0), openAcl));
    for (const [path, holders] of [
      [`${lab.path}/semaphore`, leases.map((lease) => lease.path)],
      [`${lab.path}/kazoo`, readers],
    ] as const)
      for (const verb of ['revoke', 'release']) {
        const refused = await zklock(verb, path);
        expect(refused.code).to.equal(64);
        for (const holder of holders) expect(refused.errors).to.include(holder);
      }
    expect(leases.map(({ isValid }) => isValid)).to.deep.equal([true, true]);
    for (const path of readers) expect(await lab.observer.read(path)).to.equal('');
    for (const lease of leases) await lease.release();
  });

  for (const verb of ['revoke', 'release'])
    it(`${verb} takes a hand-over between its two reads for what it is`, async () => {
      const hold = await lab.theirs.acquire();
      const next = awaitedLater(new InterProcessMutex(lab.other, lab.path).acquire());
      let reads = 0;
      lab.proxy.on((frame) => {
        if (sent('addWatch')(frame) && (reads += 1) === 2) void hold.release();
        return undefined;
      });
      const run = new InProcess(lab.proxy.connectString, [verb, lab.path]);
      expect([await run.ended, run.out]).to.deep.equal([0, `released ${hold.path}\n`]);
      await (await next).release();
    });

  it('do not call a lock free that is taken between the two reads', async () => {
    let reads = 0;
    const taken = lab.theirs.acquire.bind(lab.theirs);
    lab.proxy.on((frame) => (sent('addWatch')(frame) && (reads += 1) === 2 ? { delayUntil: taken() } : undefined));
    const run = new InProcess(lab.proxy.connectString, ['release', lab.path]);
    expect([await run.ended, run.out]).to.deep.equal([70, '']);
    expect(run.errors).to.equal(
      `nothing done: two reads of ${lab.path} show different holders. Run the command again\n`,
    );
  });

  it('accept the znode of one participant', async () => {
    const hold = await lab.theirs.acquire();
    const released = releasedWhenLost(hold);
    expect((await zklock('release', hold.path)).out).to.equal(`released ${hold.path}\n`);
    await released;
  });

  it('do nothing where nobody holds a lock, and say which locks are below', async () => {
    const hold = await lab.theirs.acquire();
    const parent = lab.path.slice(0, lab.path.lastIndexOf('/'));
    const above = await zklock('release', parent);
    expect([above.code, above.out]).to.deep.equal([0, '']);
    expect(above.errors).to.match(/(1 lock is|\d+ locks are) below this path: zklock ls/);
    expect(hold.isValid).to.equal(true);
    await hold.release();
    for (const verb of ['release', 'revoke']) {
      const { code, out, errors } = await zklock(verb, `${lab.path}-free`);
      expect([code, out, errors]).to.deep.equal([0, '', `nobody holds ${lab.path}-free\n`]);
    }
    const free = await zklock('release', '--json', `${lab.path}-free`);
    expect([free.code, free.json]).to.deep.equal([0, { path: `${lab.path}-free`, done: 'free' }]);
  });

  it('say that a holder has released which leaves before it is asked', async () => {
    const hold = await lab.theirs.acquire();
    const isLook = (frame: { from: string; op: string; path?: string | undefined }): boolean =>
      frame.from === 'client' && frame.op === 'exists' && frame.path === hold.path;
    let looks = 0;
    // The second look makes sure that the znode is gone on all servers.
    lab.proxy.on((frame) => (isLook(frame) && ++looks === 1 ? { delayUntil: hold.release() } : undefined));
    const run = new InProcess(lab.proxy.connectString, ['revoke', lab.path]);
    expect([await run.ended, run.out]).to.deep.equal([0, `released ${hold.path}\n`]);
    expect(looks).to.equal(2);
  });
});
