import { expect } from 'chai';
import { InterProcessMutex, LockClient, type ConnectionState } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { startRelay } from '../../../lab/proxy/relay.ts';
import { nameOfServers, Resolver } from '../../../lab/resolver.ts';
import { onFreshPorts } from '../../../lab/servers/free-port.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';
import { virtualMachine } from '../../../lab/world.ts';

const far = '127.0.0.9';
/** Packets to another machine arrive nowhere in the virtual network. */
const dead = '10.255.255.1';

// Only the virtual network can be slow.
if (virtualMachine) {
  const { network } = virtualMachine;

  describe('a server that is far away', () => {
    // Without the reaper of containers, after which an acquire creates its parents again.
    const lab = labOfEachTest('far', { server: { containerCheckMs: 3_600_000 }, client: 'none' });
    let isNear: () => void;

    const roundTripIs = (ms: number): void => {
      isNear = network.makeFar(far, ms / 2);
    };

    afterEach(() => isNear());

    it('keeps its holds in cuts if another address of its name is dead', () =>
      onFreshPorts(1, async ([port = 0]) => {
        roundTripIs(300);
        using _resolver = new Resolver(dead, far);
        await using relay = await startRelay(far, port, lab.server.port);
        const clients = await Promise.all(
          Array.from({ length: 50 }, () =>
            LockClient.connect(`${nameOfServers}:${port}`, { sessionTimeoutMs: 10_000 }),
          ),
        );
        const holds = await Promise.all(
          clients.map((client) => new InterProcessMutex(client, testPath('far')).acquire()),
        );
        for (let cut = 0; cut < 5; cut += 1) {
          relay.cut();
          const startedAt = lab.now();
          await until('all clients are suspended', () => clients.every(({ state }) => state === 'suspended'));
          await until('all clients are reconnected', () => clients.every(({ state }) => state === 'reconnected'));
          // The end of the old connection, and the two round trips of one attempt.
          expect(lab.now() - startedAt).to.be.below(1_000);
          // The session is proven again.
          await lab.sleep(6_000);
        }
        expect(holds.filter(({ isValid }) => !isValid)).to.deep.equal([]);
        await Promise.all(clients.map((client) => client.close()));
      }));

    // Each cut costs half a round trip until the client sees it, two for a new connection, and a pause of up to 0, 50 and
    // 100 ms: 1,125 ms together. The first write on the last connection is a proof, one round trip later. So no proof can
    // arrive within 1,255 ms, and a hold has 950 to 1,750: its proofs become known 1,850 ms after they were sent (a third
    // of the timeout and four round trips), one every 800 ms, and the deadline is 3,600 ms. A third of the holds is lost
    // whatever the client does. Two cuts in a row say that the address may be bad: the dead one gets 173 ms. They also say
    // that the servers may not know SetWatches, but its answer is not waited for before the proof.
    it('keeps a hold in three cuts, each right behind the new connection, if another address of its name is dead', () =>
      onFreshPorts(1, async ([port = 0]) => {
        roundTripIs(130);
        using _resolver = new Resolver(dead, far);
        await using relay = await startRelay(far, port, lab.server.port);
        await using client = await LockClient.connect(`${nameOfServers}:${port}`, { sessionTimeoutMs: 4_000 });
        await using hold = await new InterProcessMutex(client, testPath('thrice')).acquire();
        await lab.sleep(6_000);
        await until('the hold is old enough', () => hold.remainingMs > 1_480 && hold.remainingMs < 1_530);
        for (const _cut of [1, 2, 3]) {
          relay.cut();
          await until('the client is suspended', () => client.state === 'suspended');
          await until('the client is reconnected', () => client.state === 'reconnected');
        }
        await lab.sleep(1_000);
        expect(hold.isValid).to.equal(true);
      }));

    it('is reached by the first attempt although the other address, which worked last, is dead now', () =>
      onFreshPorts(1, async ([port = 0]) => {
        roundTripIs(300);
        using resolver = new Resolver(far);
        await using before = await startRelay(far, port, lab.server.port);
        const other = '127.0.0.8';
        const otherIsNear = network.makeFar(other, 150);
        await using after = await startRelay(other, port, lab.server.port);
        await using client = await LockClient.connect(`${nameOfServers}:${port}`, { sessionTimeoutMs: 10_000 });
        const hold = await new InterProcessMutex(client, testPath('moves')).acquire();
        resolver.addresses.push(other);
        const states: ConnectionState[] = [];
        let suspendedAt = 0;
        client.on('state', (state) => {
          states.push(state);
          if (state !== 'suspended') return;
          suspendedAt = lab.now();
          // Longer than the test takes.
          network.makeFar(far, 60_000);
        });
        before.cut();
        await until('the client is reconnected', () => client.state === 'reconnected');
        // The head start of the dead address, and two round trips.
        expect(lab.now() - suspendedAt).to.be.within(600, 1_200);
        expect([after.connections, states, hold.isValid]).to.deep.equal([1, ['suspended', 'reconnected'], true]);
        await hold.release();
        otherIsNear();
      }));

    for (const [roundTripMs, sessionTimeoutMs] of [
      [130, 4_000],
      [300, 10_000],
    ] as const)
      it(`costs an acquire after an idle time two round trips more at most, at ${roundTripMs} ms`, () =>
        onFreshPorts(1, async ([port = 0]) => {
          roundTripIs(roundTripMs);
          await using _relay = await startRelay(far, port, lab.server.port);
          await using client = await LockClient.connect(`${far}:${port}`, { sessionTimeoutMs });
          const states: ConnectionState[] = [];
          client.on('state', (state) => states.push(state));
          const mutex = new InterProcessMutex(client, testPath('idle'));
          const acquireMs = async (): Promise<number> => {
            const startedAt = lab.now();
            const hold = await mutex.acquire();
            const tookMs = lab.now() - startedAt;
            await hold.release();
            return tookMs;
          };
          await acquireMs();
          const usualMs = await acquireMs();
          await until('the session is stale', () => client.session.isStale);
          expect(await acquireMs()).to.be.within(usualMs + roundTripMs, usualMs + 2.2 * roundTripMs);
          expect(states).to.deep.equal([]);
        }));
  });
}
