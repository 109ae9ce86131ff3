import { inspect } from 'node:util';
import { expect } from 'chai';
import { InterProcessMutex, LockClient, type LogDetails } from '../../../src/index.ts';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { connectResponse, startFakeServer } from '../../../lab/servers/fake-server.ts';
import { testPath } from '../../../lab/test-path.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { until } from '../../../lab/until.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { FakeLink } from '../../../lab/wire/fake-link.ts';

/** The client must not allocate the announced length before the bytes arrive. */
const mostMemory = 32 * 1024 * 1024;

describe('a bad ConnectResponse', () => {
  let server: ZooKeeperServer;

  before(async () => (server = await startServer()));
  after(() => server.stop());

  const prefix = (length: number): Buffer => {
    const bytes = Buffer.alloc(4 + 100);
    bytes.writeInt32BE(length, 0);
    return bytes;
  };

  for (const [fault, bytes, problem] of [
    [
      'with a password of 2³¹ - 1 bytes',
      connectResponse({ passwordLength: 2 ** 31 - 1 }),
      'A session password of 2147483647 bytes',
    ],
    ['with a password of -5 bytes', connectResponse({ passwordLength: -5 }), 'A session password of -5 bytes'],
    [
      'with a grant of 1 ms',
      connectResponse({ timeoutMs: 1 }),
      'The server granted a session timeout of 1 ms: at least 100 ms',
    ],
    ['with session id 0', connectResponse({ sessionId: 0n }), 'The server granted a session without an id'],
    ['as a read-only server', connectResponse({ readOnly: true }), 'The server is read-only'],
    ['with a frame of 1 GB', prefix(2 ** 30), 'A frame of 1073741824 bytes'],
    ['with a frame of 5 KB', prefix(5 * 1024), 'A frame of 5120 bytes'],
    ['with a frame of -1 bytes', prefix(-1), 'A frame of -1 bytes'],
    ['with an empty frame', Buffer.alloc(4), 'A frame of 4 bytes is cut short'],
    ['as a web server', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), 'A frame of 1213486160 bytes'],
  ] as const)
    it(`(${fault}) is logged once, named by lastError, and the next server tried`, async () => {
      const warnings: { readonly message: string; readonly details: LogDetails }[] = [];
      await using fake = await startFakeServer((connection) =>
        connection === 1 ? { stay: bytes } : { relayTo: server.port },
      );
      const before = process.memoryUsage().arrayBuffers;
      const logger = { warn: (details: LogDetails, message: string) => void warnings.push({ message, details }) };
      await using client = await LockClient.connect(fake.connectString, {
        sessionTimeoutMs: 4_000,
        connectionTimeoutMs: 10_000,
        logger,
      });
      expect(process.memoryUsage().arrayBuffers - before).to.be.below(mostMemory);
      expect(warnings).to.have.length(1);
      expect(warnings[0]?.message).to.contain(
        `The answer of ${fake.connectString} to the request for a session cannot be used; trying the next server: ${problem}`,
      );
      expect(String(warnings[0]?.details.err)).to.contain(problem);
      await new InterProcessMutex(client, testPath('hostile')).withLock(() => undefined);
      expect(client.sessionTimeoutMs).to.equal(4_000);
    });

  it('is in the error of a connect that finds no other server, and is logged once', async () => {
    await using fake = await startFakeServer(() => ({ stay: connectResponse({ timeoutMs: 1 }) }));
    const warnings: string[] = [];
    const logger = { warn: (_details: LogDetails, message: string) => void warnings.push(message) };
    const error = await LockClient.connect(fake.connectString, { connectionTimeoutMs: 2_000, logger }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(String(error)).to.contain('The server granted a session timeout of 1 ms: at least 100 ms are needed');
    expect(warnings).to.have.length(1);
  });

  it('cannot give the session another id when the client reconnects', async () => {
    await using fake = await startFakeServer((connection) =>
      connection === 2 ? { stay: connectResponse({ sessionId: 0x666n }) } : { relayTo: server.port },
    );
    using probe = await ConnectionProbe.connect([fake.port]);
    const session = probe.connection.sessionId;
    const again = probe.next('connected');
    probe.connection.drop(new Error('again'));
    await again;
    expect(fake.asked).to.equal(3);
    expect(probe.connection.sessionId).to.equal(session);
    await probe.send(exists('/'));
  });
});

describe('a server that closes a new connection at once', () => {
  for (const code of ['EPIPE', 'ECONNRESET', undefined])
    it(`is named with what that may mean, also if the system reports ${code ?? 'nothing'}`, async () => {
      const refuse = (): FakeLink => {
        const link = new FakeLink();
        setImmediate(() =>
          link.destroy(code === undefined ? code : Object.assign(new Error(`connect ${code}`), { code })),
        );
        return link;
      };
      using probe = new ConnectionProbe([1], { network: { connect: refuse } });
      probe.connection.connect();
      await until('the attempt has ended', () => probe.connection.lastError !== undefined);
      const error = probe.connection.lastError as Error;
      expect(error.message).to.contain('127.0.0.1:1 closed the connection without an answer');
      expect(error.message).to.contain('maxClientCnxns');
      if (code !== undefined) expect(error.cause).to.have.property('code', code);
      expect(inspect(error)).not.to.include('[cause]: undefined');
    });
});
