import { expect } from 'chai';
import { InterProcessMutex } from '../../src/index.ts';
import { DigestMd5Handshake } from '../../src/zookeeper/wire/digest-md5-handshake.ts';
import type { Network } from '../../src/zookeeper/network/network.ts';
import { ServerTraits } from '../../src/zookeeper/connection/server-traits.ts';
import { Session } from '../../src/zookeeper/session/session.ts';
import { Writer } from '../../src/zookeeper/wire/wire.ts';
import { ConnectionProbe } from '../../lab/wire/connection-probe.ts';
import { FakeLink } from '../../lab/wire/fake-link.ts';
import { connectResponse, startFakeServer } from '../../lab/servers/fake-server.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { ManualClock } from '../../lab/manual-clock.ts';
import { testPath } from '../../lab/test-path.ts';
import { costOf } from './cost.ts';

/** CPU time. Node.js reads up to 2 MB of a socket in one turn, which can be 60,000 frames. */
const mostBlockMs = 500;
const mostMemory = 64 * 1024 * 1024;

describe('a server that sends one byte a second', () => {
  const challenge = new Writer().int(1).long(0n).int(0).bytes(Buffer.alloc(100, 'x')).frame();
  const account = () => new DigestMd5Handshake({ username: 'orders', password: 'secret', uuid: () => 'nonce' });
  for (const [what, sasl, before, dripped] of [
    ['ConnectResponse', undefined, [], connectResponse()],
    ['answer to SASL', account, [connectResponse()], challenge],
  ] as const)
    it(`of its ${what} gets the time of one attempt, and the next server is tried`, async () => {
      const { links, clock, network, dials } = fixture();
      using probe = new ConnectionProbe([1, 2], { network, clock, sasl, attemptMs: 20_000 });
      probe.connection.connect();
      const slow = dials();
      for (const bytes of before) slow.emit('data', bytes);
      // The connection itself may stay a little, for a late grant.
      expect(await drip(slow, dripped, clock, () => probe.connection.history.failures.size > 0)).to.equal(20);
      expect(probe.connection.isConnected).to.equal(false);
      await turn();
      expect(String(probe.connection.history.failures.get('127.0.0.1:1'))).to.equal(
        'Error: 127.0.0.1:1 did not answer within 20000 ms, the time of one attempt',
      );
      dials();
      expect(links).to.have.length(2);
      expect(probe.connection.server).to.equal('127.0.0.1:2');
    });

  it('of an answer is silent: its connection ends after two thirds of the session timeout, and the session goes on', async () => {
    const { links, clock, network, dials } = fixture();
    const session = sessionOf(network, clock);
    const slow = dials();
    const granted = connectResponse({ timeoutMs: 30_000 });
    slow.emit('data', granted);
    const { id } = session;
    expect(await drip(slow, new Writer().int(1).long(1n).int(0).bytes(Buffer.alloc(100)).frame(), clock)).to.equal(20);
    await turn();
    expect(String(session.connection.lastError)).to.equal('Error: the server has not answered for 20000 ms or more');
    expect(session.state.at).to.equal('suspended');
    dials().emit('data', granted);
    expect(links).to.have.length(2);
    expect(session.state.at).to.equal('connected');
    expect(session.id).to.equal(id);
    session.abandon();
  });
});

describe('a server that sends frames without end', function () {
  this.timeout(120_000);
  const lab = labOfEachTest('endless', { server: 'own', client: 'none' });

  it('and no answer is silent: a clear error, a new connection, and little memory and time', async () => {
    const isFlooded = async (): Promise<void> => {
      await using flood = await startFakeServer((connection) =>
        connection === 1 ? { stream: framesWithoutEnd() } : { relayTo: lab.server.port },
      );
      const warnings: string[] = [];
      await using client = await lab.connect(
        {
          sessionTimeoutMs: 4_000,
          connectionTimeoutMs: 20_000,
          logger: { warn: (_details, text) => void warnings.push(text) },
        },
        flood.connectString,
      );
      await new InterProcessMutex(client, testPath('flooded')).withLock((hold) => expect(hold.isValid).to.equal(true));
      expect(warnings.join('\n')).to.match(/Connection to \S+ lost: the server has not answered for \d+ ms or more/);
      expect(flood.asked).to.be.above(1);
    };
    const { blockMs, arrayBuffers, heap } = await costOf('frames without end', isFlooded, mostBlockMs);
    expect(blockMs, 'ms of the event loop').to.be.below(mostBlockMs);
    expect(arrayBuffers, 'bytes in array buffers').to.be.below(mostMemory);
    expect(heap, 'bytes of heap').to.be.below(mostMemory);
  });
});

/** A clock of the test, and connections whose bytes come from the test. */
function fixture() {
  const links: FakeLink[] = [];
  const clock = new ManualClock();
  clock.afterPoll = (run) => void setImmediate(run);
  const network: Network = {
    connect: () => {
      const link = new FakeLink();
      links.push(link);
      return link;
    },
  };
  /** Lets the client dial, and opens the connection. */
  const dials = (): FakeLink => {
    const before = links.length;
    // The pause before a round has a length of its own.
    for (let waitedMs = 0; links.length === before && waitedMs < 10_000; waitedMs += 1) clock.advance(1);
    const link = links.at(-1) as FakeLink;
    link.emit('connect');
    return link;
  };
  return { links, clock, network, dials };
}

function sessionOf(network: Network, clock: ManualClock): Session {
  const ignore = (): undefined => undefined;
  return new Session(
    {
      servers: { hosts: [{ host: '127.0.0.1', port: 1 }], chroot: '' },
      auth: [],
      traits: new ServerTraits(() => clock.now()),
      tickTimeMs: undefined,
      clock,
      random: () => 0,
      network,
      sessionTimeoutMs: 30_000,
      connectBy: Infinity,
    },
    {
      connected: ignore,
      answered: ignore,
      suspended: ignore,
      overdue: ignore,
      unanswered: ignore,
      ended: ignore,
      settled: ignore,
      warn: ignore,
    },
  );
}

/** Returns the number of bytes that arrived before the client gave up. */
async function drip(
  link: FakeLink,
  bytes: Buffer,
  clock: ManualClock,
  isGivenUp = () => link.destroyed,
): Promise<number> {
  let arrived = 0;
  for (const byte of bytes) {
    if (isGivenUp()) break;
    link.emit('data', Buffer.of(byte));
    arrived += 1;
    clock.advance(1_000);
    // The end of an attempt is told in a later turn.
    for (let turns = 0; turns < 3; turns += 1) await turn();
  }
  return arrived;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Events for paths that were never watched, events of an unknown type, and answers to an authentication that was not sent. */
function* framesWithoutEnd(): Generator<Buffer> {
  const frames = new Writer();
  const add = (write: (to: Writer) => unknown): void => void frames.addFrame({ write }, Buffer.alloc(0));
  for (let index = 0; index < 1_000; index += 1) {
    add((to) =>
      to
        .int(-1)
        .long(-1n)
        .int(0)
        .int(1 + (index % 5))
        .int(3)
        .text(`/never/watched-${index}`),
    );
    add((to) => to.int(-4).long(0n).int(0));
  }
  const bytes = frames.frames();
  yield connectResponse({ timeoutMs: 600 });
  for (;;) yield bytes;
}
