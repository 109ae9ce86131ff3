import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  lockContext,
  type ConnectionState,
  type Hold,
  type LockClient,
} from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { awaitedLater, createParents, statesOf } from './support.ts';

const sessionTimeoutMs = 8_000;
const answersPerSecond = 400;
const lookEveryMs = 250;
/** In the night 20,000, which take minutes of CPU. */
const largest = Number(process.env['BURST'] ?? 3_000);

describe(`FIELD B2: with ${answersPerSecond} answers a second and a session timeout of ${sessionTimeoutMs} ms`, function () {
  this.timeout(3_600_000);
  const lab = labOfEachTest('burst', { server: { answersPerSecond }, client: 'none' });
  let client: LockClient;
  let states: ConnectionState[];
  let earlier: Hold;
  /** The least that was left of the earlier hold. */
  let leastMs: number;
  let isWatched: boolean;

  beforeEach(async () => {
    client = await lab.connect({ sessionTimeoutMs });
    states = statesOf(client);
    earlier = await new InterProcessMutex(client, `${lab.path}/earlier`).acquire();
    await lab.sleep(sessionTimeoutMs);
    leastMs = Infinity;
    isWatched = true;
    void watch();
  });
  afterEach(() => (isWatched = false));

  const watch = async (): Promise<void> => {
    for (; isWatched; await lab.sleep(lookEveryMs))
      leastMs = Math.min(leastMs, earlier.isValid ? earlier.remainingMs : 0);
  };
  const expectNothingLost = (holds: readonly Hold[]): void => {
    expect(holds.filter((hold) => !hold.isValid)).to.have.length(0);
    expect(earlier.isValid).to.equal(true);
    expect(leastMs).to.be.above(sessionTimeoutMs / 8);
    expect(states).to.deep.equal([]);
  };
  const acquireAll = (count: number, timeoutMs: number): Promise<Hold[]> =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        awaitedLater(new InterProcessMutex(client, `${lab.path}/${index}`).acquire({ timeoutMs })),
      ),
    );

  it(`${largest} acquires of one tick on as many paths are granted, and no hold is lost`, async () => {
    expectNothingLost(await acquireAll(largest, largest * 120));
  });

  it('a burst after a long calm time does not go out at once', async () => {
    const mutex = new InterProcessMutex(client, `${lab.path}/calm`);
    for (let n = 0; n < 750; n += 1) await (await mutex.acquire()).release();
    expectNothingLost(await acquireAll(1_500, 300_000));
  });

  it('a release and an acquire on another path do not wait for the end of a burst', async () => {
    const path = `${lab.path}/released`;
    await createParents(client, path);
    const hold = await new InterProcessMutex(client, path).acquire();
    const all = acquireAll(1_500, 300_000);
    const startedAt = lab.now();
    expect(await hold.release()).to.equal('released');
    expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs / 6);
    expectNothingLost(await all);
  });

  it('a writer that goes on as a reader does not wait for the end of a burst', async () => {
    const { readLock, writeLock } = new InterProcessReadWriteLock(client, `${lab.path}/pair`);
    await lockContext.run(async () => {
      const writing = await writeLock.acquire();
      const all = acquireAll(1_500, 300_000);
      const startedAt = lab.now();
      const reading = await readLock.acquire({ timeoutMs: 300_000 });
      expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs / 6);
      await writing.release();
      expect(reading.isValid).to.equal(true);
      expectNothingLost(await all);
    });
  });

  it('1,500 acquires on one path are granted in their order, and no hold is lost', async () => {
    const mutex = new InterProcessMutex(client, `${lab.path}/one`);
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 1_500 }, (_, index) =>
        awaitedLater(
          mutex.acquire({ timeoutMs: 300_000 }).then((hold) => {
            order.push(index);
            return hold.release();
          }),
        ),
      ),
    );
    expect(order).to.deep.equal(Array.from({ length: 1_500 }, (_, index) => index));
    expectNothingLost([]);
  });

  it('restarts of 1,000 waiters after a loss of the session are granted, in one further session', async () => {
    const all = acquireAll(1_000, 300_000);
    // Before the first of them is granted.
    await lab.sleep(200);
    await lab.observer.endSession(client);
    const holds = await all;
    expect(holds.filter((hold) => !hold.isValid)).to.have.length(0);
    expect(states.filter((state) => state === 'lost')).to.have.length(1);
  });
});
