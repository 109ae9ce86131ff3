import { readFileSync } from 'node:fs';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { InterProcessMutex, LockClient, type LockClientOptions } from '../../../src/index.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { aborted, rejection, until } from '../../../harness/until.ts';
import { answered } from '../../../harness/frame-matches.ts';
import { reached } from '../../../harness/reached.ts';
import { clientTls, keyFile } from '../../../harness/tls-keys.ts';

const password = 'Open-Sesame-4711';

describe('no password and no key', () => {
  const lab = labOfEachTest('no-secrets', {
    server: { security: { tls: 'same-port', sasl: { alice: password } } },
    proxy: true,
    client: 'none',
  });
  let seen: unknown[];

  const options = (): LockClientOptions => ({
    tls: undefined,
    sasl: { mechanism: 'DIGEST-MD5', username: 'alice', password },
    logger: { warn: (...all) => void seen.push(all) },
  });
  const warned = (warning: Error): void => void seen.push(warning);

  beforeEach(() => {
    seen = [];
    process.on('warning', warned);
  });

  afterEach(() => {
    process.off('warning', warned);
    expect(seen).not.to.deep.equal([]);
    const text = seen
      .map((one) => inspect(one, { depth: Infinity, showHidden: true, maxArrayLength: null, maxStringLength: null }))
      .concat(seen.map((one) => JSON.stringify(one)))
      .join('\n');
    const [, key = ''] = readFileSync(keyFile('client', 'key'), 'utf8').split('\n');
    for (const secret of [password, Buffer.from(password).toString('hex'), key, 'response='])
      expect(text).not.to.contain(secret);
  });

  it('is in an inspected client, lock or hold', async () => {
    const client = await lab.connect(options());
    const secure = await lab.connect({ ...options(), tls: clientTls('client') }, lab.server.secureConnectString);
    const mutex = new InterProcessMutex(secure, lab.path);
    await mutex.withLock((hold) => void seen.push(client, secure, mutex, hold));
  });

  it('is in the error of a refused account', async () => {
    lab.proxy.on((frame) => (answered('sasl')(frame) ? { replaceError: -115 } : undefined));
    seen.push(await rejection(LockClient.connect(lab.proxy.connectString, options())));
  });

  it('is in the errors and the log of an account that is refused later', async () => {
    const client = await lab.connect(options());
    const hold = await new InterProcessMutex(client, lab.path).acquire();
    lab.proxy.on((frame) => (answered('sasl')(frame) ? { replaceError: -115 } : undefined));
    const lost = reached(client, 'lost');
    lab.proxy.cut();
    await lost;
    seen.push(await aborted(hold.signal));
    await until('the refusal is logged', () => seen.length > 1);
  });

  it('is in the error of a handshake that failed', async () => {
    const tls = { ...clientTls('client'), servername: 'other.test' };
    seen.push(await rejection(LockClient.connect(lab.server.secureConnectString, { ...options(), tls })));
  });

  for (const connectString of [
    `zk://alice:${password}@127.0.0.1:1`,
    `alice:${password}@127.0.0.1:1`,
    `alice:${password}/@127.0.0.1:1`,
  ])
    it(`is in the refusal of the connect string ${connectString.replace(password, '…')}`, async () => {
      const error = await rejection(LockClient.connect(connectString));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.match(/credentials go into the `auth` option, or into `sasl` or `tls`$/);
      seen.push(error);
    });
});
