import { expect } from 'chai';
import { labOfEachTest } from '../../../lab/lab.ts';

const sessionTimeoutMs = 4_000;
const phases = 12;

describe('an outage that is shorter than the time a hold has left', () => {
  const lab = labOfEachTest('short-outage', {
    server: { config: { maxSessionTimeout: sessionTimeoutMs } },
    proxy: true,
    // More than the server grants.
    client: { sessionTimeoutMs: 3_600_000 },
  });

  // At least 35 % of the timeout are left when a heartbeat is due: docs/timeouts.md.
  for (const share of [0.2, 0.3, 0.34])
    it(`costs no hold: ${share * 100} % of the session timeout, new connections refused, at any moment`, async () => {
      const lost: number[] = [];
      for (let phase = 0; phase < phases; phase += 1) {
        const hold = await lab.mutex.acquire();
        await lab.sleep(sessionTimeoutMs + (phase * sessionTimeoutMs) / 6 / phases);
        await lab.proxy.admit('refused');
        lab.proxy.cut();
        await lab.sleep(share * sessionTimeoutMs);
        await lab.proxy.admit('served');
        await lab.sleep(sessionTimeoutMs);
        if (!hold.isValid) lost.push(phase);
        await hold.release();
      }
      expect(lost).to.deep.equal([]);
    }).timeout(600_000);
});
