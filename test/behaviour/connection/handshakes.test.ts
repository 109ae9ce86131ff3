import { expect } from 'chai';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { FakeLink } from '../../../lab/wire/fake-link.ts';
import { connectResponse, startFakeServer } from '../../../lab/servers/fake-server.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { clientTls } from '../../../lab/servers/tls-keys.ts';
import { DigestMd5Handshake } from '../../../src/zookeeper/wire/digest-md5-handshake.ts';
import { SaslRefusal, type SaslHandshake } from '../../../src/zookeeper/wire/sasl-handshake.ts';
import { ZooKeeperError } from '../../../src/zookeeper/wire/zookeeper-error.ts';

describe('an attempt to connect', () => {
  it('gets more time in each round, also if the authentication by SASL is what takes the time', async () => {
    await using server = await startFakeServer(() => ({ stay: connectResponse() }));
    using probe = new ConnectionProbe([server.port], {
      attemptMs: 50,
      sasl: () => new DigestMd5Handshake({ username: 'alice', password: 'x', uuid: () => 'nonce' }),
    });
    probe.connection.connect();
    for (let round = 0; round < 3; round += 1) await probe.next('disconnected');
    expect(probe.rounds.slice(0, 3)).to.deep.equal([0, 1, 2]);
  });

  /** A connection whose server has answered the ConnectRequest, and for which Kerberos makes the messages. */
  const withKerberos = () => {
    const links: FakeLink[] = [];
    const connect = (): FakeLink => links[links.push(new FakeLink()) - 1] as FakeLink;
    const clock = new ManualClock();
    const messages: { resolve(message: Buffer): void; reject(error: Error): void }[] = [];
    const begin = (): Promise<Buffer> => new Promise((resolve, reject) => messages.push({ resolve, reject }));
    const sasl = (): SaslHandshake => ({ begin, next: () => undefined, refusedText: 'no ticket for this service' });
    const probe = new ConnectionProbe([1], { network: { connect }, attemptMs: 2_000, clock, sasl });
    let isRefused = false;
    probe.on('authFailed', () => (isRefused = true));
    const open = (): FakeLink => {
      clock.advance(1_000);
      const link = links.at(-1) as FakeLink;
      link.emit('connect');
      link.emit('data', connectResponse());
      return link;
    };
    probe.connection.connect();
    const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    return { probe, clock, links, messages, open, turn, isRefused: () => isRefused };
  };

  const answerTo = (xid: number, error = 0): Buffer => {
    const frame = Buffer.alloc(4 + 20);
    frame.writeInt32BE(20, 0);
    frame.writeInt32BE(xid, 4);
    frame.writeInt32BE(error, 16);
    return frame;
  };

  it('sends the message of Kerberos when it is there, and then has the answer', async () => {
    const { probe, messages, open, turn } = withKerberos();
    using _ = probe;
    const link = open();
    expect(link.written).to.have.length(1);
    messages[0]?.resolve(Buffer.from('ticket'));
    await turn();
    expect(link.written).to.have.length(2);
    expect(String(link.written[1])).to.match(/ticket$/);
    link.emit('data', answerTo(link.written[1]?.readInt32BE(4) ?? 0));
    expect(probe.connection.isConnected).to.equal(true);
  });

  for (const error of [-115, -124])
    it(`is refused by an answer with the error ${error}, in the words of the mechanism`, async () => {
      const { probe, messages, open, turn, isRefused } = withKerberos();
      using _ = probe;
      const link = open();
      messages[0]?.resolve(Buffer.from('ticket'));
      await turn();
      link.emit('data', answerTo(link.written[1]?.readInt32BE(4) ?? 0, error));
      expect(isRefused()).to.equal(true);
      expect(probe.connection.history.refusal).to.include({ why: 'account', message: 'no ticket for this service' });
    });

  it('ends by another error of the server, and is repeated', async () => {
    const { probe, messages, open, turn, isRefused } = withKerberos();
    using _ = probe;
    const link = open();
    messages[0]?.resolve(Buffer.from('ticket'));
    await turn();
    link.emit('data', answerTo(link.written[1]?.readInt32BE(4) ?? 0, -4));
    expect(link.errored).to.be.instanceOf(ZooKeeperError);
    expect(isRefused()).to.equal(false);
  });

  it('that waits for Kerberos says so when its time is over, and sends nothing later', async () => {
    const { probe, clock, links, messages, open, turn } = withKerberos();
    using _ = probe;
    const link = open();
    clock.advance(2_000);
    expect(link.errored?.message).to.equal(
      'The client had no message of SASL for 127.0.0.1:1 within 2000 ms, the time of one attempt',
    );
    await turn();
    clock.advance(1_000);
    messages[0]?.resolve(Buffer.from('ticket'));
    await turn();
    expect(links.map(({ written }) => written.length)).to.deep.equal([1, 0]);
  });

  it('is refused by no error of Kerberos that comes after its end', async () => {
    const { probe, clock, messages, open, turn, isRefused } = withKerberos();
    using _ = probe;
    open();
    clock.advance(2_000);
    messages[0]?.reject(new SaslRefusal('no-ticket'));
    await turn();
    expect(isRefused()).to.equal(false);
    expect(probe.connection.history.refusal).to.equal(undefined);
  });

  it('without a ticket is refused at once', async () => {
    const { probe, messages, open, turn, isRefused } = withKerberos();
    using _ = probe;
    open();
    messages[0]?.reject(new SaslRefusal('no-ticket'));
    await turn();
    expect(isRefused()).to.equal(true);
  });

  it('without a ticket is repeated while a session that was served may go on', async () => {
    const { probe, clock, links, messages, open, turn, isRefused } = withKerberos();
    using _ = probe;
    const link = open();
    messages[0]?.resolve(Buffer.from('ticket'));
    await turn();
    link.emit('data', answerTo(link.written[1]?.readInt32BE(4) ?? 0));
    probe.connection.ping();
    await turn();
    link.emit('data', answerTo(-2));
    link.destroy();
    await turn();
    for (const attempt of [1, 2]) {
      open();
      messages[attempt]?.reject(new SaslRefusal('no-ticket'));
      await turn();
      await turn();
      expect(links).to.have.length(attempt + 1);
      expect(isRefused()).to.equal(false);
    }
    clock.stall(4_000);
    open();
    messages.at(-1)?.reject(new SaslRefusal('no-ticket'));
    await turn();
    expect(isRefused()).to.equal(true);
  });

  it('ends if the server answers before Kerberos has made the message', () => {
    const { probe, open } = withKerberos();
    using _ = probe;
    const link = open();
    link.emit('data', answerTo(0));
    expect(link.errored?.message).to.equal('The server answered request 0, but no answer was due');
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

  for (const isAnswered of [true, false])
    it(`that is due after a stall of the process ${isAnswered ? 'succeeds if its answer lies unread' : 'ends if it has no answer'}`, () => {
      const { link, clock, probe, endPoll } = dialled();
      using _ = probe;
      link.emit('connect');
      clock.advance(1_000);
      // The loop of Node.js runs timers first, then it reads.
      if (isAnswered) link.emit('data', connectResponse());
      endPoll();
      expect(probe.connection.isConnected).to.equal(isAnswered);
      // A link whose attempt was given up stays for a late answer.
      clock.advance(2_000);
      expect(link.destroyed).to.equal(!isAnswered);
    });

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
    probe.connection.attach(0);
    await dialled;
    open(links[1]);
    links[1]?.emit('data', connectResponse());
    const late = connectResponse({ timeoutMs: 9_000 });
    links[0]?.emit('data', late);
    links[0]?.emit('connect');
    expect(links.map(({ written }) => written.length)).to.deep.equal([1, 1]);
    expect(probe.connection.timeoutMs).to.equal(4_000);
    expect(probe.warnings).to.deep.equal([]);
  });
});
