import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { startProxy, type Op } from '../../../lab/proxy/zk-proxy.ts';
import { rejection, until } from '../../../lab/until.ts';
import { awaitedLater, createParents, sameConnectionOfEachTest } from './support.ts';

const sessionTimeoutMs = 10_000;
const limit = { timeoutMs: 4 * sessionTimeoutMs };
const [connectionLoss, operationTimeout, outOfMemory, systemError] = [-4, -7, -10, -1];
const changes: readonly Op[] = ['create', 'create2', 'createContainer', 'setData'];

for (const keeper of [undefined, 'containers'] as const)
  describe(`at ${keeper ? 'an imitation of ClickHouse Keeper' : 'a server'} that could not carry a request out, and says so`, function () {
    this.timeout(300_000);
    const lab = labOfEachTest('unable', {
      server: keeper ? { keeper } : 'own',
      proxy: true,
      client: { sessionTimeoutMs },
    });
    const expectSameConnection = sameConnectionOfEachTest(lab);
    /** Every request is refused, as by a Keeper without a leader. Pings are answered. */
    const withoutLeader = async (ms: number, error: number): Promise<void> => {
      const elected = lab.proxy.on((frame) =>
        frame.from === 'client' && frame.op !== 'ping' && frame.op !== 'closeSession' ? { refuse: error } : undefined,
      );
      await lab.sleep(ms);
      elected();
    };

    for (const error of [connectionLoss, operationTimeout])
      it(`(error ${error}, for two seconds): holds and places stay, and calls of that time are done after it`, async () => {
        const paths = ['held', 'waited', 'released', 'begun'].map((name) => `${lab.path}-${name}`);
        const [held, waited, released, begun] = paths.map((path) => new InterProcessMutex(lab.client, path));
        if (!held || !waited || !released || !begun) throw new Error('unreachable');
        const hold = await held.acquire(limit);
        const toRelease = await released.acquire(limit);
        const theirs = await new InterProcessMutex(lab.other, waited.path).acquire(limit);
        const waiting = awaitedLater(waited.acquire(limit));
        await lab.queueReaches(2, waited.path);
        const [, place] = await waited.participants();
        await createParents(lab.client, begun.path);
        const leaderless = withoutLeader(2_000, error);
        const beginning = awaitedLater(begun.acquire(limit));
        const releasing = toRelease.release();
        await theirs.release();
        await leaderless;
        expect((await waiting).path).to.equal(place?.path);
        expect((await beginning).isValid).to.equal(true);
        expect(await releasing).to.equal('released');
        await lab.sleep(2 * sessionTimeoutMs);
        expect(hold.isValid).to.equal(true);
        for (const path of paths)
          expect(await lab.observer.children(path), path).to.have.length(path === released.path ? 0 : 1);
        expectSameConnection();
      });

    it('to a create that it carries out all the same: the znode is found, and granted', async () => {
      once(lab.proxy, answered('create2'), { replaceError: operationTimeout });
      await using hold = await lab.mutex.acquire(limit);
      expect(await lab.observer.children(lab.path)).to.deep.equal([hold.path.slice(lab.path.length + 1)]);
      expectSameConnection();
    });

    it('to a create that it has put off: later reads wait for it no more', async () => {
      once(lab.proxy, sent('create2'), { refuse: outOfMemory });
      once(lab.proxy, sent('create2'), { refuse: connectionLoss });
      await using hold = await lab.mutex.acquire({ timeoutMs: 2_000 });
      expect(hold.isValid).to.equal(true);
      expectSameConnection();
    });

    it('to a waiter that only asks, again a minute later: it keeps its place', async () => {
      const theirs = await lab.theirs.acquire(limit);
      const second = awaitedLater(lab.theirs.acquire({ timeoutMs: 200_000 }));
      await lab.queueReaches(2);
      const waiting = awaitedLater(lab.mutex.acquire({ timeoutMs: 200_000 }));
      await lab.queueReaches(3);
      for (let time = 0; time < 2; time += 1) {
        await lab.sleep(60_000);
        let said = 0;
        const elected = lab.proxy.on((frame) =>
          sent('sync')(frame) ? ((said += 1), { refuse: connectionLoss }) : undefined,
        );
        await until('it was told', () => said > 0);
        await lab.sleep(1_000);
        elected();
      }
      expectSameConnection();
      await theirs.release();
      await (await second).release();
      await (await waiting).release();
    });

    it('to a transaction: its outcome is unknown, and the hold stays', async () => {
      await using hold = await lab.mutex.acquire(limit);
      const isOfApplication = (frame: Parameters<ReturnType<typeof sent>>[0]): boolean =>
        sent('multi')(frame) && frame.body.includes('written');
      once(lab.proxy, isOfApplication, { refuse: connectionLoss });
      const error = await rejection(hold.transaction().setData(lab.path, Buffer.from('written')).commit());
      expect(error).to.have.property('code', 'ERR_LOCK_OUTCOME_UNKNOWN');
      expect(hold.isValid).to.equal(true);
      expectSameConnection();
    });

    it('to each create, for a long time: thirty at most in each session timeout, and another hold stays', async () => {
      const hold = await lab.mutex.acquire(limit);
      let said = 0;
      lab.proxy.on((frame) => (sent('create2')(frame) ? ((said += 1), { refuse: connectionLoss }) : undefined));
      const timeoutMs = 2 * sessionTimeoutMs;
      await rejection(new InterProcessMutex(lab.client, `${lab.path}-other`).acquire({ timeoutMs }));
      expect(said).to.be.within(2, 2 * 30);
      expect(hold.isValid).to.equal(true);
      expectSameConnection();
      await hold.release();
    });

    it('because it is short of memory: the acquire goes on when it has some again, and a timeout names the error', async () => {
      const hold = await lab.mutex.acquire(limit);
      const other = new InterProcessMutex(lab.client, `${lab.path}-other`);
      const relieved = lab.proxy.on((frame) =>
        frame.from === 'client' && changes.includes(frame.op) ? { refuse: outOfMemory } : undefined,
      );
      const error = await rejection(other.acquire({ timeoutMs: 3 * sessionTimeoutMs }));
      expect(error.message).to.contain('puts requests off (OUT_OF_MEMORY)');
      const acquiring = awaitedLater(other.acquire(limit));
      await lab.sleep(1_000);
      relieved();
      await (await acquiring).release();
      expect(hold.isValid).to.equal(true);
      expectSameConnection();
      await hold.release();
    });
  });

describe('a client at a server that answers each proof with an error', function () {
  this.timeout(300_000);
  const lab = labOfEachTest('unproven', { server: 'own', proxy: true, client: 'none' });

  for (const error of [connectionLoss, operationTimeout, systemError, -999])
    it(`(${error}) goes to another server before its deadline: the hold stays`, async () => {
      await using well = await startProxy(lab.server.port);
      await well.admit('refused');
      const servers = `${lab.proxy.connectString},${well.connectString}`;
      const client = await lab.connect({ sessionTimeoutMs }, servers);
      await well.admit('served');
      const hold = await new InterProcessMutex(client, lab.path).acquire(limit);
      lab.proxy.on((frame) => (sent('multi')(frame) ? { refuse: error } : undefined));
      await until('the client is elsewhere', () => client.health().server === well.connectString);
      await lab.sleep(2 * sessionTimeoutMs);
      expect(hold.isValid).to.equal(true);
      await hold.release();
    });

  it('and is the only one is not left more than four times in each session timeout', async () => {
    const client = await lab.connect({ sessionTimeoutMs });
    const hold = await new InterProcessMutex(client, lab.path).acquire(limit);
    const { dials } = lab.proxy;
    lab.proxy.on((frame) => (sent('multi')(frame) ? { refuse: systemError } : undefined));
    await lab.sleep(6 * sessionTimeoutMs);
    expect(hold.isValid).to.equal(false);
    expect(lab.proxy.dials - dials).to.be.within(1, 4 * 6);
  });
});
