import { expect } from 'chai';
import { InterProcessMutex, type Hold, type LockClient } from '../../src/index.ts';
import { connectToFirst, nextState } from '../../lab/lock-clients.ts';
import { serverMode } from '../../lab/servers/four-letter-word.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';
import { testPath } from '../../lab/test-path.ts';
import { useTrio } from '../../lab/servers/trio.ts';
import { until } from '../../lab/until.ts';
import type { ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { longTimeoutMs, shortTimeoutMs } from './support/rivals.ts';

describe('a quiet session with waiters that are not next', function () {
  this.timeout(90_000);
  const used = useTrio();
  const clients: LockClient[] = [];

  afterEach(() => Promise.all(clients.splice(0).map((client) => client.close({ timeoutMs: 200 }))));

  const connect = async (servers: readonly ZooKeeperServer[], sessionTimeoutMs: number): Promise<LockClient> => {
    const client = await connectToFirst(servers, { sessionTimeoutMs });
    clients.push(client);
    return client;
  };

  it('moves from a follower that is cut off to another server, and keeps its place', async () => {
    const roles = await used.trio.whole();
    const [leader, follower, other] = roles;
    const around = [other, leader];
    const queue = await Queue.begin(await connect(around, longTimeoutMs), await connect(around, longTimeoutMs));
    const waiter = await connect([follower, ...around], longTimeoutMs);
    const user = await connect([follower, ...around], longTimeoutMs);
    await queue.add(waiter);
    await queue.add(user);
    const before = await queueOf(queue.mutex);
    const ids = [waiter.session.id, user.session.id];
    await until('both sessions are quiet', () => waiter.session.isStale && user.session.isStale, 40_000);

    const suspended = [waiter, user].map(nextState);
    await used.trio.cutFollowerOff(roles, follower);
    // The user asks for another lock at once. The waiter does nothing, and only its syncs find out.
    const free = await new InterProcessMutex(user, testPath('free')).acquire();
    expect(free.isValid).to.equal(true);
    expect(free.remainingMs).to.be.above(longTimeoutMs / 2);
    expect(await Promise.all(suspended)).to.deep.equal(['suspended', 'suspended']);
    await until('the waiter is connected again', () => waiter.session.isConnected);
    await until('it still follows', async () => (await serverMode('127.0.0.1', follower.port)) === 'follower');

    expect([waiter.session.id, user.session.id]).to.deep.equal(ids);
    expect(await queueOf(queue.mutex)).to.deep.equal(before);
    expect(await queue.served()).to.deep.equal(before);
    expect(await free.release()).to.equal('released');
  });

  it('is granted nothing by a leader that is deposed, and starts over in a new session', async () => {
    const roles = await used.trio.whole();
    const [leader, one, other] = roles;
    const rival = await connect([one, other], longTimeoutMs);
    const queue = await Queue.begin(rival, await connect([other, one], longTimeoutMs));
    const quiet = await connect([leader, one, other], shortTimeoutMs);
    const { id } = quiet.session;
    const [freePath, heldPath] = [testPath('free'), testPath('held')];
    await queue.add(quiet);
    const [holder, next] = await queueOf(queue.mutex);
    await until('the session is quiet', () => quiet.session.isStale, 20_000);

    await used.trio.cutLeaderOff(roles);
    await until(
      'the next leader has expired the session',
      // An election may last longer than a query waits.
      async () => (await queueOf(queue.mutex).catch(() => [])).length === 2,
      40_000,
    );
    const theirs = await new InterProcessMutex(rival, heldPath).acquire();
    // The deposed leader still answers pings, reads and syncs, and takes the session for alive.
    await until('it still leads', async () => (await serverMode('127.0.0.1', leader.port)) === 'leader');
    expect(quiet.state).to.equal('connected');
    expect(quiet.session.id).to.equal(id);
    const [free, held] = [freePath, heldPath].map((path) => new InterProcessMutex(quiet, path));
    if (!free || !held) throw new Error('no mutexes');
    let isHeldByBoth = false;
    const waiting = held.acquire().then((hold) => {
      isHeldByBoth = theirs.isValid;
      return hold;
    });

    const hold = await free.acquire();
    expect(hold.isValid).to.equal(true);
    expect(quiet.session.id).to.not.equal(id);
    expect(await queueOf(new InterProcessMutex(rival, freePath))).to.deep.equal([hold.path]);
    await queueReaches(queue.mutex, 3);
    expect((await queueOf(queue.mutex)).slice(0, 2)).to.deep.equal([holder, next]);
    await queueReaches(new InterProcessMutex(rival, heldPath), 2);
    expect(await theirs.release()).to.equal('released');
    await (await waiting).release();
    expect(isHeldByBoth).to.equal(false);
    await hold.release();
    expect(await queue.served()).to.have.length(3);
  });
});

/** A holder, the next waiter, and waiters behind it. */
class Queue {
  /** The lock, used by the holder's client. */
  readonly mutex: InterProcessMutex;
  readonly #hold: Hold;
  readonly #waits: Promise<string>[] = [];
  readonly #order: string[] = [];

  static async begin(holder: LockClient, next: LockClient): Promise<Queue> {
    const mutex = new InterProcessMutex(holder, testPath('quiet'));
    const queue = new Queue(mutex, await mutex.acquire());
    await queue.add(next);
    return queue;
  }

  private constructor(mutex: InterProcessMutex, hold: Hold) {
    this.mutex = mutex;
    this.#hold = hold;
  }

  /** Resolves when the client waits behind the others. */
  async add(client: LockClient): Promise<void> {
    const before = (await queueOf(this.mutex)).length;
    const wait = new InterProcessMutex(client, this.mutex.path).acquire().then(async (hold) => {
      this.#order.push(hold.path);
      await hold.release();
      return hold.path;
    });
    wait.catch(() => undefined); // where the test ends first
    this.#waits.push(wait);
    await queueReaches(this.mutex, before + 1);
  }

  /** Releases the lock, and resolves with the paths in the order of the grants. */
  async served(): Promise<string[]> {
    this.#order.push(this.#hold.path);
    await this.#hold.release();
    await Promise.all(this.#waits);
    return this.#order;
  }
}
