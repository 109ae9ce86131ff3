import { expect } from 'chai';
import { fourLetterWord } from '../../../lab/servers/four-letter-word.ts';
import { imitation } from '../../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { PlainSession } from './support/plain-session.ts';

describe('the four-letter words of an embedded ZooKeeper', () => {
  let real: ZooKeeperServer;
  let zk: EmbeddedZooKeeper;
  before(async function () {
    this.timeout(60_000);
    real = await startRealServer();
    zk = await EmbeddedZooKeeper.start({ ...imitation(), tickTimeMs: 500, maxSessionTimeoutMs: 60_000 });
  });
  after(() => Promise.all([real.stop(), zk.stop()]));

  for (const word of ['ruok', 'wchs', 'isro'])
    it(`print the same as the real ones: ${word}`, async () => {
      expectSame(await answersTo(word));
    });

  it('count watches, znodes and connections as the real ones do', async () => {
    for (const { port } of [zk, real]) {
      const session = await PlainSession.open(port, 10_000);
      await session.create('/counted', 0);
      for (const path of ['/counted', '/not-yet']) await session.request({ op: 'exists', path, watch: true });
    }
    expectSame(await answersTo('wchs'));
    expectSame((await answersTo('srvr')).map((answer) => answer.match(/Connections: \d+|Node count: \d+|Mode: \w+/g)));
    const [ours = '', theirs = ''] = await answersTo('mntr');
    const figures = ours.split('\n').filter((line) => /_count|server_state|alive/.test(line));
    expect(figures).to.have.length(5);
    for (const figure of figures) expect(theirs.split('\n')).to.include(figure);
  });

  it('print the lines of srvr, and the sessions of cons, in the same form as the real ones', async () => {
    const forms = (await answersTo('srvr')).map((answer) => answer.split('\n').map((line) => line.split(':')[0]));
    expectSame(forms);
    const stats = (await answersTo('stat')).map((answer) => answer.replaceAll(/:.*$|[1-9]\d*/gm, ''));
    expectSame(stats);
    for (const answer of await answersTo('cons'))
      expect(answer).to.match(
        /^ \/127\.0\.0\.1:\d+\[1\]\(queued=0,recved=\d+,sent=\d+,sid=0x[0-9a-f]+,.*to=10000,lcxid=0x[0-9a-f]+/m,
      );
  });

  it('print the sessions and their ephemeral znodes as the real ones do: dump', async () => {
    for (const { port } of [zk, real]) await (await PlainSession.open(port, 10_000)).create('/ephemeral', 1);
    const dumps = (await answersTo('dump')).map((answer) =>
      answer
        .replace(/Connections dump[^]*/, '')
        .replace(/expire at .*:/g, 'expire')
        .replace(/0x\w+/g, 'session'),
    );
    const [ours = '', theirs = ''] = dumps.map((answer) => answer.slice(answer.indexOf('ephemeral')));
    expect(ours).to.equal(theirs).and.to.include('\t/ephemeral\n');
    // The real one moves a session to a later expiry at each request: for a moment, an expiry may have no session.
    for (const answer of dumps)
      expect(answer).to.match(
        /^SessionTracker dump:\nSession Sets \(\d+\)\/\(\d+\):\n(\d+ expire\n(\tsession\n)*)+ephem/,
      );
  });

  it('are refused if the server knows them but has no answer', async () => {
    expect(await fourLetterWord('127.0.0.1', zk.port, 'hash')).to.equal(
      'hash is not executed because it is not in the whitelist.\n',
    );
  });

  it('are the length of a frame if they are unknown: the connection is closed', async () => {
    expect(await answersTo('abcd')).to.deep.equal(['', '']);
  });

  function answersTo(word: string): Promise<string[]> {
    return Promise.all([zk, real].map(({ port }) => fourLetterWord('127.0.0.1', port, word)));
  }
});

function expectSame([ours, theirs]: readonly unknown[]): void {
  expect(ours).to.deep.equal(theirs);
}
