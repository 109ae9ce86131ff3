import { expect } from 'chai';
import { ManualClock } from '../../lab/manual-clock.ts';
import { SharedCount } from '../../src/semaphore/shared-count.ts';
import { checkClientOptions } from '../../src/client/options/client-options.ts';
import { SessionWatches } from '../../src/zookeeper/session/watches.ts';

describe('the watch of a shared count', () => {
  it('has one listener, and removes none from the servers, however often it asks', async () => {
    const clock = new ManualClock();
    const answer = { data: Buffer.from([0, 0, 0, 3]) };
    const watches = new SessionWatches({
      isConnected: true,
      find: <T>() => Promise.resolve(answer as T),
      request: () => expect.fail('a request was sent'),
    });
    let changes = 0;
    const count = new SharedCount(checkClientOptions({}), '/count');
    const stop = count.watch({ watches, timeoutMs: 1_000 }, 3, clock, () => (changes += 1));
    for (let asks = 0; asks < 5; asks += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      clock.advance(1_000);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(changes).to.equal(0);
    watches.fired('/count', 'changed');
    expect(changes).to.equal(1);
    stop();
    expect(clock.timers).to.equal(0);
  });
});
