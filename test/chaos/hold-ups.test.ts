import { expect } from 'chai';
import { HoldUps } from '../../chaos/hold-ups.ts';
import type { HistoryEvent } from '../../lab/judge/history.ts';
import { until } from '../../lab/until.ts';

describe('a machine that holds everything up during chaos', () => {
  const standStill = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

  it('is recorded as a fault of all clients, from the last beat to the next, if that is longer than a second', async () => {
    const events: HistoryEvent[] = [];
    using _ = new HoldUps(['c1', 'c2'], (event) => events.push(event));
    standStill(400);
    await new Promise((resolve) => setTimeout(resolve, 100)); // due later than the next beat
    standStill(1_200);
    await until('it is recorded', () => events.length >= 2);
    const [fault, healed] = events;
    // A fault during which code stops would excuse a client that believes in a lost lock.
    const kind = { kind: 'busy-machine', clients: ['c1', 'c2'], isStopped: false };
    expect(fault).to.deep.include({ type: 'fault', fault: 'm1', ...kind });
    expect(healed).to.deep.include({ type: 'healed', fault: 'm1' });
    expect((healed?.t ?? 0) - (fault?.t ?? 0)).to.be.at.least(1_000);
  });
});
