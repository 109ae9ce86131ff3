import { expect } from 'chai';
import { HoldUps } from '../../chaos/hold-ups.ts';
import type { HistoryEvent } from '../../chaos/history.ts';
import { until } from '../../harness/until.ts';

describe('a machine that holds everything up during chaos', () => {
  const standStill = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  it('is recorded as a fault of all clients, from the last beat to the next', async () => {
    const events: HistoryEvent[] = [];
    using _ = new HoldUps(['c1', 'c2'], (event) => events.push(event));
    standStill(1_200);
    await until('it is recorded', () => events.length === 2);
    const [fault, healed] = events;
    expect(fault).to.deep.include({ type: 'fault', fault: 'm1', kind: 'busy-machine', clients: ['c1', 'c2'] });
    expect(healed).to.deep.include({ type: 'healed', fault: 'm1' });
    expect((healed?.t ?? 0) - (fault?.t ?? 0)).to.be.at.least(1_200);
  });
});
