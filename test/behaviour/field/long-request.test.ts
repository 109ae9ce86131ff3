import { expect } from 'chai';
import { InterProcessMutex, OutcomeUnknownError } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { createParents, keepsWarnings, statesOf } from './support.ts';

const sessionTimeoutMs = 6_000;
const limit = { timeoutMs: 5 * sessionTimeoutMs };
const mostBytes = 20_000;
const { warnings, logger } = keepsWarnings();

describe('a server with a low jute.maxbuffer, which ends the connection of a longer request', function () {
  this.timeout(400_000);
  const lab = labOfEachTest('long-request', { server: 'own', proxy: true, client: { sessionTimeoutMs, logger } });
  let heal: () => void;
  beforeEach(async () => {
    warnings.length = 0;
    await createParents(lab.client, lab.path);
    heal = lab.proxy.on(({ from, body }) => (from === 'client' && body.length > mostBytes ? 'cut' : undefined));
  });
  const acquireWith = (bytes: number, path = lab.path): Promise<unknown> =>
    new InterProcessMutex(lab.client, path).acquire({ ...limit, data: new Uint8Array(bytes) });
  const longSent = (): number => lab.proxy.frames.filter(({ body }) => body.length > mostBytes).length;

  it('an acquire with such data rejects after three connections, with the size, and blocks no other acquire', async () => {
    const startedAt = lab.now();
    const error = await rejection(acquireWith(mostBytes));
    expect(lab.now() - startedAt).to.be.below(1_000);
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.cause).to.include({ code: 'MARSHALLING_ERROR', operation: 'create2' });
    expect(error.message).to.match(
      new RegExp(
        `127.0.0.1:${lab.proxy.port} ends each connection on which it gets the request create2 with 20\\d{3} bytes\\. .*jute\\.maxbuffer.*\`data\``,
      ),
    );
    expect(warnings.filter((warning) => warning.includes('jute.maxbuffer'))).to.have.length(1);
    const states = statesOf(lab.client);
    await acquireWith(mostBytes / 2);
    await acquireWith(0, testPath('another'));
    expect([longSent(), states]).to.deep.equal([3, []]);
  });

  it('a longer one is not sent at all, with its own size, and one that was answered before is found, too', async () => {
    heal();
    await acquireWith(2 * mostBytes, testPath('before'));
    lab.proxy.on(({ from, body }) => (from === 'client' && body.length > mostBytes ? 'cut' : undefined));
    const [error] = await Promise.all([
      rejection(acquireWith(mostBytes)),
      acquireWith(0, testPath('another')),
      acquireWith(mostBytes / 2, testPath('shorter')),
    ]);
    expect(error.message).to.match(/with 20\d{3} bytes/);
    const sent = longSent();
    expect((await rejection(acquireWith(3 * mostBytes))).message).to.match(/with 60\d{3} bytes/);
    expect(longSent()).to.equal(sent);
  });

  it('no hold is lost by transactions that are too long, and each error names the length', async () => {
    const hold = await lab.mutex.acquire(limit);
    const commit = (): Promise<Error> =>
      rejection(hold.transaction().create(`${lab.path}-note`, new Uint8Array(mostBytes)).commit());
    for (let time = 1; time <= 8; time += 1) {
      const error = await commit();
      expect(error.message).to.match(/ 20\d{3} bytes/);
      expect(error instanceof OutcomeUnknownError, `time ${time}`).to.equal(time <= 3);
      expect(error.message).to.contain('jute.maxbuffer');
    }
    await lab.sleep(2 * sessionTimeoutMs);
    expect(hold.isValid).to.equal(true);
    await hold.transaction().create(`${lab.path}-note`).commit();
  });

  it('an acquire with such data is granted once the server takes them', async () => {
    await rejection(acquireWith(mostBytes));
    heal();
    await lab.sleep(10_000);
    await acquireWith(mostBytes);
  });
});
