import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LeaderElection,
  type AcquireOptions,
  type LockClient,
} from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { testPath } from '../../lab/test-path.ts';

type Release = () => Promise<unknown>;
type Acquire = (client: LockClient, path: string, options: AcquireOptions) => Promise<{ readonly release: Release }>;

const mutex: Acquire = (client, path, options) => new InterProcessMutex(client, path).acquire(options);
const writer: Acquire = (client, path, options) =>
  new InterProcessReadWriteLock(client, path).writeLock.acquire(options);

interface Kind {
  readonly ours: Acquire;
  /** How another client finds out that the lock is free. @default as `ours` */
  readonly theirs?: Acquire;
  /** How many znodes are granted to one call. @default 1 */
  readonly grants?: number;
}

const kinds: Readonly<Record<string, Kind>> = {
  mutex: { ours: mutex },
  writer: { ours: writer },
  reader: {
    ours: (client, path, options) => new InterProcessReadWriteLock(client, path).readLock.acquire(options),
    theirs: writer,
  },
  'mutex with weights': {
    ours: (client, path, options) => new InterProcessMutex(client, path, { weights: {} }).acquire(options),
  },
  'sticky mutex': {
    ours: (client, path, options) =>
      new InterProcessMutex(client, path, { sticky: { idleMs: 60_000 } }).acquire(options),
    theirs: mutex,
  },
  'semaphore with two leases': {
    ours: async (client, path, options) => {
      const leases = await new InterProcessSemaphore(client, path, { maxLeases: 2 }).acquireMany(2, options);
      return { release: () => Promise.all(leases.map((lease) => lease.release())) };
    },
    grants: 3, // with that of its turn
  },
  'semaphore mutex': {
    ours: (client, path, options) => new InterProcessSemaphoreMutex(client, path).acquire(options),
    grants: 2,
  },
  'multi-lock': {
    ours: (client, path, options) => {
      const parts = ['a', 'b'].map((name) => new InterProcessMutex(client, `${path}/${name}`));
      return new InterProcessMultiLock(parts).acquire(options);
    },
    grants: 2,
  },
  'leading candidate': { ours: (client, path, options) => new LeaderElection(client, path).campaign(options) },
};

/** More than any kind takes from the grant of its znode to the end of the call. */
const mostSteps = 25;

describe('a caller that gives up in any step after its znode got the lock', () => {
  const lab = labOfEachTest('given-up', { server: 'own' });

  /** Aborts the signal `steps` microtasks after the grant of the znode number `grant`. */
  const abortAfterGrant = (aborter: AbortController, grant: number, steps: number): void => {
    const { session } = lab.client;
    const hold = session.hold.bind(session);
    let left = grant;
    session.hold = (holding) => {
      hold(holding);
      left -= 1;
      if (left > 0) return;
      session.hold = hold;
      let step = Promise.resolve();
      for (let taken = 0; taken < steps; taken += 1) step = step.then(() => undefined);
      void step.then(() => aborter.abort());
    };
  };

  for (const [kind, { ours, theirs = ours, grants = 1 }] of Object.entries(kinds))
    for (const waits of [false, true])
      it(`leaves the lock free: ${kind}, ${waits ? 'for which it waited' : 'which was free'}`, async () => {
        let outcome: unknown;
        for (let step = 0; step < grants * mostSteps; step += 1) {
          const path = testPath(`${kind.replaceAll(' ', '-')}-${step}`);
          const before = waits ? await theirs(lab.other, path, {}) : undefined;
          const aborter = new AbortController();
          const settled = ours(lab.client, path, { signal: aborter.signal }).then(
            (hold) => hold.release().then(() => 'released'),
            () => 'given up',
          );
          if (before) await lab.sleep(100);
          abortAfterGrant(aborter, 1 + Math.floor(step / mostSteps), step % mostSteps);
          await before?.release();
          outcome = await settled;
          await (await theirs(lab.other, path, { timeoutMs: 10_000 })).release();
        }
        // The last step is one too many.
        expect(outcome).to.equal('released');
      });
});
