import { connect, createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { InterProcessMutex, type ConnectionState, type Hold, type LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { freePorts, listen } from '../../../lab/servers/free-port.ts';
import { clientTls } from '../../../lab/servers/tls-keys.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import type { Newcomers } from '../../../lab/proxy/zk-proxy.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { virtualMachine } from '../../../lab/world.ts';
import { awaitedLater, becomeQuiet, createParents, sessionsOn, statesOf } from './support.ts';

const sessionTimeoutMs = 6_000;
/** The limit of an acquire, so that a test that fails does not hang. */
const limit = { timeoutMs: 2 * sessionTimeoutMs };
const longLimit = { timeoutMs: 10 * sessionTimeoutMs };
const places = 100;

/** The troubles of the second connection of an attach, while the first one is healthy. */
const troubles: readonly Exclude<Newcomers, 'served'>[] = ['refused', 'swallowed', 'closed', 'silent'];

describe('FIELD A1: while new connections are in trouble and the old one is healthy', function () {
  this.timeout(600_000);
  const lab = labOfEachTest('new-connections', { server: 'own', proxy: true, client: { sessionTimeoutMs } });
  let states: ConnectionState[];
  let sessionId: string | undefined;

  const idle = async (): Promise<void> => {
    await createParents(lab.client, lab.path);
    await becomeQuiet(sessionTimeoutMs);
    states = statesOf(lab.client);
    ({ sessionId } = lab.client.health());
    lab.proxy.clear();
  };
  const expectNothingLost = (): void => {
    expect(states).to.deep.equal([]);
    expect(lab.client.health().sessionId).to.equal(sessionId);
  };

  for (const trouble of troubles)
    describe(`because they are ${trouble}`, () => {
      it('an acquire of an idle client is granted on the old connection, within a session timeout', async () => {
        await idle();
        await lab.proxy.admit(trouble);
        const startedAt = lab.now();
        const hold = await lab.mutex.acquire(limit);
        expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs);
        expect(hold.isValid).to.equal(true);
        expect(hold.remainingMs).to.be.above(sessionTimeoutMs / 4);
        expectNothingLost();
        await lab.sleep(3 * sessionTimeoutMs);
        expect(hold.isValid).to.equal(true);
        expect(await hold.release()).to.equal('released');
        expectNothingLost();
      });

      it('ten acquires, each after an idle time, are granted', async () => {
        await idle();
        await lab.proxy.admit(trouble);
        for (let turn = 0; turn < 10; turn += 1) {
          await (await lab.mutex.acquire(limit)).release();
          await becomeQuiet(sessionTimeoutMs);
        }
        expectNothingLost();
      });

      it('a try of an idle client finds the free lock', async () => {
        await idle();
        await lab.proxy.admit(trouble);
        const hold = await lab.mutex.tryAcquire(sessionTimeoutMs);
        expect(hold?.isValid).to.equal(true);
        await hold?.release();
        expectNothingLost();
      });

      it('there is no second dial within a session timeout', async () => {
        await idle();
        await lab.proxy.admit(trouble);
        const before = lab.proxy.dials;
        const startedAt = lab.now();
        const acquiring = awaitedLater(lab.mutex.acquire(limit));
        const others = Array.from({ length: 5 }, (_, index) =>
          awaitedLater(new InterProcessMutex(lab.client, testPath(`other-${index}`)).withLock(() => undefined, limit)),
        );
        await (await acquiring).release();
        await Promise.all(others);
        await lab.sleep(startedAt + sessionTimeoutMs - lab.now() - 1);
        expect(lab.proxy.dials - before).to.be.at.most(1);
        expectNothingLost();
      });

      it(`${places} of ${places} waiters that become next keep their places, and are granted`, async () => {
        const paths = Array.from({ length: places }, () => testPath('queue'));
        const between = await lab.connect({ sessionTimeoutMs: 30_000 }, lab.connectString);
        const holds = await Promise.all(paths.map((path) => new InterProcessMutex(lab.other, path).acquire()));
        const stop = new AbortController();
        const rivals = paths.map((path) =>
          rejection(new InterProcessMutex(between, path).acquire({ signal: stop.signal })),
        );
        await queued(paths, 2);
        const waits = paths.map((path) => awaitedLater(new InterProcessMutex(lab.client, path).acquire(longLimit)));
        await queued(paths, 3);
        await idle();
        const own = await ownPlaces(paths);
        await lab.proxy.admit(trouble);
        stop.abort();
        await Promise.all(rivals);
        await lab.sleep(sessionTimeoutMs);
        const kept = new Set(await ownPlaces(paths));
        expect(own.filter((place) => kept.has(place))).to.have.length(places);
        await Promise.all(holds.map((hold) => hold.release()));
        const granted = await Promise.all(waits);
        expect(granted.map(({ path }) => path)).to.have.members(own);
        expectNothingLost();
        await Promise.all(granted.map((hold) => hold.release()));
      });

      it('a holder keeps its lock, and acquires others, for ten session timeouts', async () => {
        await idle();
        const hold = await lab.mutex.acquire(limit);
        await lab.proxy.admit(trouble);
        for (let turn = 0; turn < 5; turn += 1) {
          await lab.sleep(2 * sessionTimeoutMs);
          await new InterProcessMutex(lab.client, testPath('another')).withLock((other) => {
            expect(other.isValid).to.equal(true);
          }, limit);
        }
        expect(hold.isValid).to.equal(true);
        expect(await hold.release()).to.equal('released');
        expectNothingLost();
      });

      it('a client that is closed in the middle of its attach closes its session, and leaves nothing', async () => {
        await idle();
        await lab.proxy.admit(trouble);
        const acquiring = rejection(lab.mutex.acquire(limit));
        await lab.sleep(20);
        const startedAt = lab.now();
        await lab.client.close({ timeoutMs: 2 * sessionTimeoutMs });
        expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs / 4);
        expect(await acquiring).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
        expect(await sessionsOn(lab)).to.not.include(sessionId);
        expect(await lab.observer.children(lab.path)).to.deep.equal([]);
        const { dials } = lab.proxy;
        await lab.sleep(2 * sessionTimeoutMs);
        expect(lab.proxy.dials).to.equal(dials);
      });
    });

  for (const trouble of ['swallowed', 'silent'] as const)
    it(`an old connection that ends first, while the new one is ${trouble}, costs an outage, and no place`, async () => {
      const held = await lab.theirs.acquire();
      const between = await lab.connect({ sessionTimeoutMs: 30_000 }, lab.connectString);
      const stop = new AbortController();
      const rival = rejection(new InterProcessMutex(between, lab.path).acquire({ signal: stop.signal }));
      await queued([lab.path], 2);
      const waiting = awaitedLater(lab.mutex.acquire(longLimit));
      await queued([lab.path], 3);
      await becomeQuiet(sessionTimeoutMs);
      states = statesOf(lab.client);
      const own = await ownPlaces([lab.path]);
      await lab.proxy.admit(trouble);
      stop.abort();
      await rival;
      await lab.sleep(100);
      lab.proxy.cut();
      // Until the attempt of the attach has ended.
      await lab.sleep(sessionTimeoutMs / 2);
      expect(states).to.deep.equal(['suspended']);
      await lab.proxy.admit('served');
      await held.release();
      await using hold = await waiting;
      expect(states).to.deep.equal(['suspended', 'reconnected']);
      expect([hold.path]).to.deep.equal(own);
    });

  it('a client that is closed after its old connection has ended closes its session over a third one', async () => {
    await idle();
    await lab.proxy.admit('swallowed');
    const acquiring = rejection(lab.mutex.acquire(longLimit));
    await queued([lab.path], 1);
    lab.proxy.cut();
    await lab.sleep(10);
    await lab.proxy.admit('served');
    const startedAt = lab.now();
    await lab.client.close({ timeoutMs: 2 * sessionTimeoutMs });
    expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs / 4);
    expect(await acquiring).to.have.property('code', 'ERR_LOCK_CLIENT_CLOSED');
    expect(await sessionsOn(lab)).to.not.include(sessionId);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('a new connection that fails while requests are in flight on the old one costs none of them', async () => {
    await idle();
    await lab.proxy.admit('closed');
    let answer = (): void => undefined;
    const late = new Promise<void>((resolve) => (answer = resolve));
    once(lab.proxy, answered('getChildren2'), { delayUntil: late });
    const asked = awaitedLater(lab.mutex.participants());
    await lab.proxy.seen(sent('getChildren2'));
    const acquiring = awaitedLater(lab.mutex.acquire(limit));
    await lab.sleep(sessionTimeoutMs / 12);
    answer();
    expect(await asked).to.deep.equal([]);
    await (await acquiring).release();
    expectNothingLost();
  });

  it('requests of others go on over the old connection while an attach is swallowed', async () => {
    await idle();
    await lab.proxy.admit('swallowed');
    const acquiring = awaitedLater(lab.mutex.acquire(limit));
    await lab.sleep(10);
    const startedAt = lab.now();
    await new InterProcessMutex(lab.client, testPath('elsewhere')).participants();
    expect(lab.now() - startedAt).to.be.below(10);
    await (await acquiring).release();
    expectNothingLost();
  });

  it('the server that closes the old one at the ConnectRequest and never answers costs an outage, and no session', async () => {
    await idle();
    once(lab.proxy, answered('connect'), 'drop');
    await using hold = await lab.mutex.acquire(limit);
    expect(hold.isValid).to.equal(true);
    expect(states).to.deep.equal(['suspended', 'reconnected']);
    expect(lab.client.health().sessionId).to.equal(sessionId);
  });

  // Only the virtual network can be slow: an attempt takes longer after a slow one.
  if (virtualMachine)
    it('a client far away begins its proof on the old connection before it gives the new one up', async () => {
      lab.proxy.roundTrip(300);
      const client = await lab.connect({ sessionTimeoutMs });
      await createParents(client, lab.path);
      await becomeQuiet(sessionTimeoutMs);
      await lab.proxy.admit('silent');
      lab.proxy.clear();
      const startedAt = lab.now();
      const acquiring = awaitedLater(new InterProcessMutex(client, lab.path).acquire(limit));
      await lab.proxy.seen(sent('multi'));
      // The list has taken a round trip, and an attempt takes four.
      expect(lab.now() - startedAt).to.be.below(300 + sessionTimeoutMs / 24 + 300);
      await (await acquiring).release();
    });

  it('an attach succeeds again, once they are served', async () => {
    await idle();
    await lab.proxy.admit('refused');
    await (await lab.mutex.acquire(limit)).release();
    await lab.proxy.admit('served');
    await becomeQuiet(sessionTimeoutMs);
    lab.proxy.clear();
    await (await lab.mutex.acquire(limit)).release();
    expect(lab.proxy.frames.filter(sent('connect'))).to.have.length(1);
    expectNothingLost();
  });

  const queued = (paths: readonly string[], count: number): Promise<void> =>
    until(`${count} are queued`, async () => {
      const queues = await Promise.all(paths.map((path) => lab.observer.children(path)));
      return queues.every((queue) => queue.length === count);
    });
  /** The znodes of `lab.client`. */
  const ownPlaces = async (paths: readonly string[]): Promise<string[]> => {
    const id = BigInt(lab.client.health().sessionId ?? 0);
    const all = await Promise.all(
      paths.map(async (path) =>
        (await lab.observer.ephemerals(path))
          .filter(({ owner }) => BigInt.asUintN(64, owner) === id)
          .map(({ name }) => `${path}/${name}`),
      ),
    );
    return all.flat();
  };
});

describe('FIELD A1: while a TLS handshake of new connections never ends', () => {
  const lab = labOfEachTest('new-tls-connections', { server: { security: { tls: 'same-port' } }, client: 'none' });
  let gate: Gate;
  let client: LockClient;

  beforeEach(async () => {
    gate = await Gate.open(lab.server.port);
    client = await lab.connect({ tls: clientTls(), sessionTimeoutMs }, `localhost:${gate.port}`);
  });
  afterEach(async () => {
    await client.close({ timeoutMs: 500 });
    gate.close();
  });

  it('an acquire of an idle client is granted on the old connection, within a session timeout', async () => {
    await createParents(client, lab.path);
    await becomeQuiet(sessionTimeoutMs);
    const states = statesOf(client);
    gate.isSilent = true;
    const startedAt = lab.now();
    await using hold: Hold = await new InterProcessMutex(client, lab.path).acquire(limit);
    expect(lab.now() - startedAt).to.be.below(sessionTimeoutMs);
    expect(hold.isValid).to.equal(true);
    expect(states).to.deep.equal([]);
  });
});

/** Passes bytes on, and on demand none of new connections. */
class Gate {
  readonly port: number;
  isSilent = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  static async open(target: number): Promise<Gate> {
    const [port = 0] = await freePorts(1);
    const gate = new Gate(port, target);
    await listen(gate.#server, port);
    return gate;
  }

  private constructor(port: number, target: number) {
    this.port = port;
    this.#server = createServer((near) => {
      this.#keep(near);
      if (this.isSilent) {
        near.resume();
        return;
      }
      const far = this.#keep(connect(target, '127.0.0.1'));
      near.pipe(far).pipe(near);
    });
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #keep(socket: Socket): Socket {
    this.#sockets.add(socket);
    return socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
  }
}
