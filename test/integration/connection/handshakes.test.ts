import { readFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { ConnectionProbe } from '../../../harness/connection-probe.ts';
import { FakeLink } from '../../../harness/fake-link.ts';
import { connectResponse, startFakeServer } from '../../../harness/fake-server.ts';
import { listen, onFreshPorts } from '../../../harness/free-port.ts';
import { ManualClock } from '../../../harness/manual-clock.ts';
import { clientTls, keyFile } from '../../../harness/tls-keys.ts';

describe('an attempt to connect', () => {
  it('gets more time in each round, also if the authentication by SASL is what takes the time', async () => {
    await using server = await startFakeServer(() => ({ stay: connectResponse() }));
    using probe = new ConnectionProbe([server.port], {
      attemptMs: 50,
      sasl: { username: 'alice', password: 'x', uuid: () => 'nonce' },
    });
    probe.connection.connect();
    for (let round = 0; round < 3; round += 1) await probe.next('disconnected');
    expect(probe.rounds.slice(0, 3)).to.deep.equal([0, 1, 2]);
  });

  it('sends its ConnectRequest after the TLS handshake', () => {
    const link = new FakeLink();
    const clock = new ManualClock();
    using probe = new ConnectionProbe([1], {
      tls: () => clientTls(),
      network: { connect: () => link },
      clock,
    });
    probe.connection.connect();
    clock.advance(1);
    link.emit('connect');
    expect(link.written).to.have.length(0);
    link.emit('secureConnect');
    expect(link.written).to.have.length(1);
  });

  /** An attempt in a process that stalls. What it puts off until the sockets are read happens at `endPoll`. */
  const dialled = () => {
    const link = new FakeLink();
    const clock = new ManualClock();
    const putOff: (() => void)[] = [];
    clock.afterPoll = (run) => void putOff.push(run);
    const probe = new ConnectionProbe([1], { network: { connect: () => link }, attemptMs: 50, clock });
    probe.connection.connect();
    clock.advance(1);
    return { link, clock, probe, endPoll: () => putOff.forEach((run) => run()) };
  };

  for (const isAnswered of [true, false]) {
    it(`that is due after a stall of the process ${isAnswered ? 'succeeds if its answer lies unread' : 'ends if it has no answer'}`, () => {
      const { link, clock, probe, endPoll } = dialled();
      using _ = probe;
      link.emit('connect');
      clock.advance(1_000);
      // The loop of Node.js runs timers first, then it reads.
      if (isAnswered) link.emit('data', connectResponse());
      endPoll();
      expect(probe.connection.isConnected).to.equal(isAnswered);
      expect(link.destroyed).to.equal(!isAnswered);
    });
  }

  it('that is due asks for no session, although the connection is made before the attempt ends', () => {
    const { link, clock, probe, endPoll } = dialled();
    using _ = probe;
    clock.advance(1_000);
    link.emit('connect');
    endPoll();
    expect(link.written).to.deep.equal([]);
    expect(link.destroyed).to.equal(true);
  });

  it('reads nothing from the connection before it', async () => {
    const links: FakeLink[] = [];
    const connect = (): FakeLink => {
      const link = new FakeLink();
      links.push(link);
      return link;
    };
    const clock = new ManualClock();
    using probe = new ConnectionProbe([1], { network: { connect }, clock });
    const open = (link: FakeLink | undefined): void => void link?.emit('connect');
    probe.connection.connect();
    clock.advance(1);
    open(links[0]);
    links[0]?.emit('data', connectResponse());
    expect(probe.connection.isConnected).to.equal(true);
    const dialled = new Promise<void>((resolve) => setImmediate(resolve));
    probe.connection.reattach(0);
    await dialled;
    open(links[1]);
    const late = connectResponse({ timeoutMs: 9_000 });
    links[0]?.emit('data', late);
    links[0]?.emit('connect');
    expect(probe.connection.isConnected).to.equal(false);
    expect(links.map(({ written }) => written.length)).to.deep.equal([1, 1]);
    links[1]?.emit('data', connectResponse());
    expect(probe.connection.isConnected).to.equal(true);
    expect(probe.connection.timeoutMs).to.equal(4_000);
  });

  it('sends one ConnectRequest, also if the server repeats the TLS handshake', async () => {
    const received: Buffer[] = [];
    const answer = (socket: TLSSocket): void => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => void received.push(chunk));
      socket.once('data', () => {
        socket.renegotiate({}, () => socket.write(connectResponse()));
      });
    };
    const keys = { key: readFileSync(keyFile('server', 'key')), cert: readFileSync(keyFile('server', 'pem')) };
    // TLS 1.3 has no renegotiation.
    const server = createServer({ ...keys, maxVersion: 'TLSv1.2' }, answer);
    const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));
    try {
      using probe = await ConnectionProbe.connect([port], { tls: () => clientTls() });
      expect(Buffer.concat(received)).to.have.length(received[0]?.length ?? 0);
      expect(probe.unansweredAttempts).to.deep.equal([]);
    } finally {
      server.close();
    }
  });
});
