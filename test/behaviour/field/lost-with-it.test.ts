import { expect } from 'chai';
import { InterProcessMutex, type LockError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { sent } from '../../../lab/proxy/frame-matches.ts';

const calls = 200;
const everyMs = 200;

describe('FIELD A4: a connection that ends at a request, before earlier answers have arrived', () => {
  const lab = labOfEachTest('lost-with-it', { server: 'own', proxy: true });

  // Two ends make the client careful, three show the cause, and each later try costs one. Watches cost some more.
  for (const [op, outcome, mostDials] of [
    ['createContainer', 'done', 5],
    ['create2', 'create2', 7],
    ['getChildren2', 'getChildren2', 12],
  ] as const)
    it(`${op}, which the server knew before: no other request is blamed, and no hold is lost`, async () => {
      const client = await lab.connect({ sessionTimeoutMs: 10_000 }, lab.proxy.connectString);
      const held = await new InterProcessMutex(client, `${lab.path}/held`).acquire();
      lab.proxy.roundTrip(2);
      const { dials } = lab.proxy;
      lab.proxy.on((frame) => (sent(op)(frame) ? 'cut' : undefined));
      const outcomes = new Set<unknown>();
      const all: Promise<unknown>[] = [];
      for (let call = 0; call < calls; call += 1) {
        const mutex = new InterProcessMutex(client, `${lab.path}/${call}`);
        const ended = mutex.withLock(() => 'done', { timeoutMs: 5_000 }).catch(blamed);
        all.push(ended.then((each) => outcomes.add(each)));
        await lab.sleep(everyMs);
      }
      await Promise.all(all);
      expect([...outcomes]).to.deep.equal([outcome]);
      expect(held.isValid).to.equal(true);
      expect(lab.proxy.dials - dials).to.be.at.most(mostDials);
    }).timeout(300_000);

  it('by chance, twice: the requests are sent together again as soon as each kind had an answer', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 30_000 }, lab.proxy.connectString);
    const workMs = async (): Promise<number> => {
      const startedAt = lab.now();
      const jobs = Array.from({ length: 8 }, async (_, index) => {
        const mutex = new InterProcessMutex(client, `${lab.path}/${index}`);
        for (let cycle = 0; cycle < 5; cycle += 1) await mutex.withLock(() => 'done');
      });
      await Promise.all(jobs);
      return lab.now() - startedAt;
    };
    await workMs();
    const roundTripMs = 90;
    lab.proxy.roundTrip(roundTripMs);
    const usualMs = await workMs();
    let cuts = 0;
    lab.proxy.on((frame) => (sent('create2')(frame) && (cuts += 1) <= 2 ? 'cut' : undefined));
    // Each cut costs the requests in flight, two round trips for a connection, two for the search of the lost creates.
    expect((await workMs()) - usualMs).to.be.below(14 * roundTripMs);
    expect(cuts).to.be.above(2);
  }).timeout(300_000);
});

function blamed({ cause }: LockError): unknown {
  return (cause as { operation?: unknown } | undefined)?.operation;
}
