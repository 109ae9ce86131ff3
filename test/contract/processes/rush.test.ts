import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  lockContext,
  type LockClient,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';

/** `RUSH_MS`: how long they contend, in milliseconds. */
const rushMs = Number(process.env['RUSH_MS'] ?? 3_000);
const clients = 4;
const flowsOfClient = 6;

describe('a rush of short holds of several kinds of locks', function () {
  this.timeout(rushMs + 60_000);
  const lab = labOfEachTest('rush', { client: 'none' });

  /** A waiter that no event wakes asks the servers after a session timeout. So it would time out before. */
  const terms = { sessionTimeoutMs: 40_000 };
  const timeoutMs = 20_000;

  interface Visitor {
    acquire(options: { readonly timeoutMs: number }): Promise<{ release(): Promise<unknown> }>;
  }

  const locksOf = (client: LockClient): Visitor[] => {
    const at = (name: string): string => `${lab.path}-${name}`;
    const pair = new InterProcessReadWriteLock(client, at('pair'));
    const [a, b] = [new InterProcessMutex(client, at('a')), new InterProcessMutex(client, at('b'))];
    return [
      a,
      pair.readLock,
      pair.writeLock,
      new InterProcessSemaphore(client, at('leases'), { maxLeases: 2 }),
      new InterProcessMutex(client, at('weights'), { weights: { overtakesPerWeight: 2 } }),
      new InterProcessMutex(client, at('sticky'), { sticky: { idleMs: 5 } }),
      new InterProcessMultiLock([a, b]),
      new InterProcessMultiLock([b, a]),
    ];
  };

  it('wakes each waiter in its turn, also one whose answers and events arrive in one chunk', async () => {
    const opened = await Promise.all(Array.from({ length: clients }, () => lab.connect(terms)));
    for (const client of opened) expect(client.sessionTimeoutMs).to.be.above(timeoutMs);
    const endsAt = performance.now() + rushMs;
    const grants: number[] = [];
    const flows = opened.flatMap((client, index) => {
      const locks = locksOf(client);
      return Array.from({ length: flowsOfClient }, (_, flow) =>
        lockContext.run(async () => {
          for (let turn = index + flow; performance.now() < endsAt; turn += 1 + flow) {
            const hold = await locks[turn % locks.length]?.acquire({ timeoutMs });
            grants.push(turn);
            await hold?.release();
          }
        }),
      );
    });
    await Promise.all(flows);
    expect(grants.length).to.be.above(clients * flowsOfClient);
  });
});
