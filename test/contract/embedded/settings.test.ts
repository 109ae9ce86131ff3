import { expect } from 'chai';
import { fourLetterWord } from '../../../lab/servers/four-letter-word.ts';
import { imitation } from '../../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { connectRequest, type Request } from '../../../lab/wire/request.ts';
import { overTcp, WireClient } from '../../../lab/wire/wire-client.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { PlainSession } from './support/plain-session.ts';

const schemes = ['digest'] as const;
const words = ['srvr', 'isro'] as const;
const timeoutMs = 10_000;
const alice = { op: 'auth', scheme: 'digest', credentials: 'alice:open sesame' } as const;

describe('the settings of an operator, on an embedded ZooKeeper and on the real one:', function () {
  this.timeout(60_000);
  let real: ZooKeeperServer;
  let zk: EmbeddedZooKeeper;

  before(async () => {
    const config = {
      'enforce.auth.enabled': 'true',
      'enforce.auth.schemes': schemes.join(),
      // The laboratory asks for the configuration, to know the server.
      '4lw.commands.whitelist': [...words, 'conf'].join(),
    };
    real = await startRealServer({ config });
    zk = await EmbeddedZooKeeper.start({ ...imitation(), enforceAuthSchemes: schemes, fourLetterWords: words });
  });
  after(() => Promise.all([real.stop(), zk.stop()]));

  /** The answer of both servers. Fails if they differ. */
  const both = async <T>(asked: (port: number) => Promise<T>): Promise<T> => {
    const [ours, theirs] = await Promise.all([asked(zk.port), asked(real.port)]);
    expect(ours).to.deep.equal(theirs);
    return ours;
  };

  for (const word of ['isro', 'ruok', 'mntr', 'hash'])
    it(`the word ${word} is ${word === 'isro' ? 'answered' : 'refused'}`, async () => {
      const answer = await both((port) => fourLetterWord('127.0.0.1', port, word));
      expect(answer).to.equal(word === 'isro' ? 'rw' : `${word} is not executed because it is not in the whitelist.\n`);
    });

  for (const request of [
    { op: 'ping' },
    { op: 'getData', path: '/' },
    { op: 'create2', path: '/a' },
    { op: 'multi', items: [] },
    { op: 'closeSession' },
  ] as const satisfies readonly Request[])
    it(`${request.op} without an account ends the connection, and not the session`, async () => {
      const seen = await both(async (port) => {
        const session = await PlainSession.open(port, timeoutMs);
        session.send(request);
        await session.closed;
        const again = await PlainSession.open(port, timeoutMs, session.ticket);
        return { answers: session.transcript, isRefused: again.isRefused };
      });
      expect(seen).to.deep.equal({ answers: [`#${request.op === 'ping' ? -2 : 1} -124`], isRefused: false });
    });

  it('an account may do everything, but give a znode a time to live', async () => {
    const errors = await both(async (port) => {
      const session = await PlainSession.open(port, timeoutMs);
      const requests: readonly Request[] = [
        alice,
        { op: 'create2', path: '/mine' },
        { op: 'createContainer', path: '/mine/box' },
        { op: 'createTTL', path: '/mine/short', ttl: 1_000 },
      ];
      const found: number[] = [];
      for (const request of requests) found.push((await session.request(request)).error);
      return found;
    });
    expect(errors).to.deep.equal([0, 0, 0, -6]);
  });

  it('a client that says nothing of read-only servers gets no such flag back', async () => {
    const lengths = await both(async (port) => {
      const whole = connectRequest(timeoutMs);
      const old = Buffer.concat([Buffer.from([0, 0, 0, whole.length - 5]), whole.subarray(4, -1)]);
      const lengthOf = async (request: Buffer): Promise<number> => {
        using client = new WireClient(overTcp(port));
        client.write(request);
        await client.opened();
        return client.bytesReceived;
      };
      return [await lengthOf(whole), await lengthOf(old)];
    });
    expect(lengths).to.deep.equal([41, 40]);
  });
});
