import { expect } from 'chai';
import { InterProcessMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';

/** The four-letter words that tests, documents and operators read. */
describe('the four-letter words of a real server', () => {
  const lab = labOfEachTest('words', { server: 'own' });

  const numberIn = async (word: string, label: RegExp): Promise<number> =>
    Number(label.exec(await lab.server.command(word))?.[1]);

  it('ruok answers that it runs', async () => {
    expect(await lab.server.command('ruok')).to.equal('imok');
  });

  it('srvr tells the mode, and the zxid of the newest transaction', async () => {
    const zxid = async (): Promise<number> =>
      Number.parseInt(/^Zxid: 0x([0-9a-f]+)$/m.exec(await lab.server.command('srvr'))?.[1] ?? '', 16);
    expect(await lab.server.command('srvr')).to.match(/^Mode: standalone$/m);
    const before = await zxid();
    await using hold = await lab.mutex.acquire();
    expect(Number(hold.fencingToken)).to.be.within(before + 1, await zxid());
  });

  it('wchs counts the watches of the waiters, and of no one else after the last release', async () => {
    const watches = (): Promise<number> => numberIn('wchs', /^Total watches:(\d+)$/m);
    const hold = await lab.mutex.acquire();
    const waiting = lab.theirs.acquire();
    // The holder watches its own znode, and the waiter its own and the holder's.
    await until('the waiter watches', async () => (await watches()) >= 2);
    await hold.release();
    await (await waiting).release();
    await until('no watch is left', async () => (await watches()) === 0);
  });

  it('dump lists the session of the holder with its znode', async () => {
    const hold = await lab.mutex.acquire();
    const id = `0x${BigInt.asUintN(64, lab.client.session.id).toString(16)}`;
    const dump = await lab.server.command('dump');
    expect(dump).to.match(new RegExp(`^${id}:\\n\\t${hold.path}$`, 'm'));
    await hold.release();
    expect(await lab.server.command('dump')).not.to.contain(hold.path);
  });

  it('cons lists the connection of each client with its session and its timeout', async () => {
    const cons = await lab.server.command('cons');
    for (const client of [lab.client, lab.other])
      expect(cons).to.contain(`sid=0x${BigInt.asUintN(64, client.session.id).toString(16)}`);
    expect(cons).to.match(/\bto=\d+/);
  });

  it('mntr counts the ephemeral znodes', async () => {
    const count = (): Promise<number> => numberIn('mntr', /^zk_ephemerals_count\t(\d+)$/m);
    const before = await count();
    const holds = await Promise.all(
      [1, 2, 3].map((number) => new InterProcessMutex(lab.client, `${lab.path}-${number}`).acquire()),
    );
    expect(await count()).to.equal(before + 3);
    for (const hold of holds) await hold.release();
    expect(await count()).to.equal(before);
  });
});
