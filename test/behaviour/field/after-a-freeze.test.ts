import { expect } from 'chai';
import type { LockClient } from '../../../src/index.ts';
import { InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { messageMs, proxiedTripMs } from '../../../lab/world.ts';
import { createParents, statesOf } from './support.ts';

/** Parts of the session timeout: the length of the freeze, and the time from the last release to it. */
const lengths = [0.6, 0.62, 0.64, 0.66];
const phases = Array.from({ length: 25 }, (_, index) => index / 25);
/** An acquire has one round trip, an attach and its proof two more; the TCP connection is one. */
const mostMs = 4 * proxiedTripMs;
/** Two such acquires may differ by this in the delays of their messages. */
const spreadMs = mostMs * (1 - messageMs.least / messageMs.most);

for (const sessionTimeoutMs of [10_000, 30_000])
  describe(`FIELD A10: with a session timeout of ${sessionTimeoutMs} ms, after a freeze of the server`, function () {
    this.timeout(10_000_000);
    const lab = labOfEachTest('freeze', { server: 'own', proxy: true, client: 'none' });

    /** The time of an acquire right behind the freeze, and the states until then; undefined if the session ended. */
    const acquireAfter = async (client: LockClient, length: number, phase: number) => {
      const mutex = new InterProcessMutex(client, lab.path);
      await mutex.withLock(() => undefined);
      await lab.sleep(phase * sessionTimeoutMs);
      const { sessionId } = client.health();
      const states = statesOf(client);
      lab.server.pause();
      await lab.sleep(length * sessionTimeoutMs);
      const wasConnected = states.length === 0;
      lab.server.resume();
      // The heartbeat that the freeze held up is answered, so heartbeats go on.
      await lab.sleep(proxiedTripMs + 5);
      const startedAt = lab.now();
      const hold = await mutex.acquire({ timeoutMs: 2 * sessionTimeoutMs });
      const tookMs = lab.now() - startedAt;
      expect(hold.isValid).to.equal(true);
      await hold.release();
      return client.health().sessionId === sessionId ? { length, phase, tookMs, wasConnected } : undefined;
    };

    for (const length of lengths)
      it(`of ${length} of the timeout, a free lock is granted within two round trips more, at 25 phases`, async () => {
        const client = await lab.connect({ sessionTimeoutMs });
        await createParents(client, lab.path);
        const late: object[] = [];
        let connected = 0;
        for (const phase of phases) {
          const outcome = await acquireAfter(client, length, phase);
          if (!outcome?.wasConnected) continue;
          connected += 1;
          if (outcome.tookMs > mostMs + 2) late.push(outcome);
        }
        expect(connected).to.be.above(0);
        expect(late.slice(0, 3)).to.deep.equal([]);
      });

    it('no grant comes later than a fresh session would get it', async () => {
      const client = await lab.connect({ sessionTimeoutMs });
      await createParents(client, lab.path);
      const late: object[] = [];
      for (const phase of phases) {
        const outcome = await acquireAfter(client, 0.64, phase);
        const startedAt = lab.now();
        const fresh = await lab.connect({ sessionTimeoutMs });
        await new InterProcessMutex(fresh, lab.path).withLock(() => undefined);
        const freshMs = lab.now() - startedAt;
        await fresh.close();
        // A client that has given its connection up dials again at most a second later.
        const pauseMs = outcome?.wasConnected === false ? 1_000 : 0;
        if (outcome && outcome.tookMs > freshMs + pauseMs + spreadMs) late.push({ ...outcome, freshMs });
      }
      expect(late.slice(0, 3)).to.deep.equal([]);
    });
  });
