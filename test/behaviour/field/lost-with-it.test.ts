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
});

function blamed({ cause }: LockError): unknown {
  return (cause as { operation?: unknown } | undefined)?.operation;
}
