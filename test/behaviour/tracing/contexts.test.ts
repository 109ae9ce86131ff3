import { AsyncLocalStorage } from 'node:async_hooks';
import { expect } from 'chai';
import { lockContext } from '../../../src/index.ts';
import { innermostContext } from '../../../src/mutex/lock-context.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { queueReaches } from '../../../lab/queue.ts';
import { Recording } from '../../../lab/traced.ts';
import { until } from '../../../lab/until.ts';

describe('a subscriber of the tracing channels', () => {
  const lab = labOfEachTest('tracing-contexts');
  const stores = new AsyncLocalStorage<string>();

  /** Inside of two lock contexts and a store, as a handler of requests might be. */
  const inRequest = (job: () => Promise<unknown>): Promise<unknown> =>
    stores.run('request', () => lockContext.run(() => lab.client.withLock(`${lab.path}-outer`, job)));

  it('is called outside of every lock context', async () => {
    const inside: string[] = [];
    using recording = new Recording((channel, event) => {
      if (innermostContext()) inside.push(`${channel} ${event}`);
    });
    await inRequest(async () => {
      const hold = await lab.mutex.acquire();
      await lab.mutex.withLock(() => undefined);
      await hold.transaction().commit();
      await hold.release();
      expect(await lab.mutex.tryAcquire({ signal: AbortSignal.abort() }).catch(() => undefined)).to.equal(undefined);
      await (await lab.connect()).close();
    });
    await until('the session has ended', () => recording.messages.session[0]?.outcome !== undefined);
    expect(new Set(recording.events.map((event) => event.split(' ')[0])).size).to.equal(5);
    expect(inside).to.deep.equal([]);
  });

  it('is called in the stores of the code that acquires, at the starts of the acquire, the hold and the release', async () => {
    const seen = new Map<string, Set<string | undefined>>();
    using recording = new Recording((channel, event) => {
      if (event !== 'start') return;
      const stored = seen.get(channel) ?? new Set();
      seen.set(channel, stored.add(stores.getStore()));
    });
    const first = await stores.run('other', () => lab.theirs.acquire());
    seen.clear();
    const waiting = inRequest(() => lab.mutex.withLock(() => undefined));
    await queueReaches(lab.theirs, 2);
    await stores.run('other', () => first.release());
    await waiting;
    expect(seen.get('acquire')).to.deep.equal(new Set(['request']));
    expect(seen.get('hold')).to.deep.equal(new Set(['request']));
    expect(seen.get('release')).to.deep.equal(new Set(['other', 'request']));
    expect(recording.messages.session).to.deep.equal([]);
  });

  it('that acquires the lock of the code that called it is another owner', async () => {
    const acquired: Promise<unknown>[] = [];
    using recording = new Recording((channel, event) => {
      if (channel !== 'hold' || event !== 'start' || acquired.length > 0) return;
      acquired.push(Promise.resolve());
      acquired[0] = lab.mutex.withLock(() => recording.events.length);
    });
    await lab.mutex.withLock(async () => {
      await queueReaches(lab.mutex, 2);
    });
    await acquired[0];
    expect(recording.messages.hold.map(({ isReentrant }) => isReentrant)).to.deep.equal([false, false]);
  });
});
