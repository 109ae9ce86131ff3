import { expect } from 'chai';
import { InterProcessMutex, type LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { awaitedLater, becomeQuiet, createParents, statesOf } from './support.ts';

/** The delays of the virtual network vary by a tenth. */
const slackOfTrip = 0.2;

for (const [roundTripMs, sessionTimeoutMs] of [
  [130, 4_000],
  [300, 10_000],
  [500, 10_000],
] as const)
  describe(`FIELD F1: with a round trip of ${roundTripMs} ms and a session timeout of ${sessionTimeoutMs} ms`, function () {
    this.timeout(2_000_000);
    const lab = labOfEachTest('long-round-trips', {
      server: { containerCheckMs: 3_600_000 },
      proxy: true,
      client: 'none',
    });
    const limit = { timeoutMs: 3 * sessionTimeoutMs };
    let client: LockClient;
    let mutex: InterProcessMutex;
    const timeOf = async (run: () => Promise<unknown>): Promise<number> => {
      const startedAt = lab.now();
      await run();
      return lab.now() - startedAt;
    };

    beforeEach(async () => {
      lab.proxy.roundTrip(roundTripMs);
      client = await lab.connect({ sessionTimeoutMs });
      mutex = new InterProcessMutex(client, lab.path);
      await createParents(client, lab.path);
    });

    it('an acquire after an idle time takes at most two round trips more, and no outage', async () => {
      const usualMs = await timeOf(async () => (await mutex.acquire(limit)).release());
      await becomeQuiet(sessionTimeoutMs);
      const states = statesOf(client);
      const afterIdleMs = await timeOf(async () => (await mutex.acquire(limit)).release());
      expect(afterIdleMs).to.be.at.most(usualMs + (2 + slackOfTrip) * roundTripMs);
      expect(states).to.deep.equal([]);
    });

    it('ten acquires after idle times show no outage', async () => {
      const states = statesOf(client);
      for (let turn = 0; turn < 10; turn += 1) {
        await becomeQuiet(sessionTimeoutMs);
        await (await mutex.acquire(limit)).release();
      }
      expect(states).to.deep.equal([]);
    });

    it('a waiter that becomes next after an idle time keeps its place, without an outage', async () => {
      const [holder, between] = [await direct(), await direct()];
      const held = await new InterProcessMutex(holder, lab.path).acquire(limit);
      const stop = new AbortController();
      const rival = rejection(new InterProcessMutex(between, lab.path).acquire({ signal: stop.signal }));
      await lab.queueReaches(2);
      const waiting = awaitedLater(mutex.acquire({ timeoutMs: 100_000 }));
      await lab.queueReaches(3);
      const place = (await new InterProcessMutex(holder, lab.path).participants())[2]?.path;
      await becomeQuiet(sessionTimeoutMs);
      const states = statesOf(client);
      stop.abort();
      await rival;
      await lab.sleep(sessionTimeoutMs / 2);
      await held.release();
      await using hold = await waiting;
      expect(hold.path).to.equal(place);
      expect(states).to.deep.equal([]);
    });

    it('a holder keeps its lock across twenty cuts', async () => {
      const hold = await new InterProcessMutex(client, testPath('held')).acquire(limit);
      for (let cuts = 0; cuts < 20; cuts += 1) {
        await lab.sleep(sessionTimeoutMs);
        lab.proxy.cut();
      }
      await lab.sleep(sessionTimeoutMs);
      expect(hold.isValid).to.equal(true);
      expect(await hold.release()).to.equal('released');
    });

    const direct = (): Promise<LockClient> => lab.connect({ sessionTimeoutMs: 30_000 }, lab.connectString);
  });
