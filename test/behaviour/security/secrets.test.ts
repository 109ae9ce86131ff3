import { createPrivateKey } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ConnectionOptions } from 'node:tls';
import { inspect } from 'node:util';
import { expect } from 'chai';
import { InterProcessMutex, LockClient, TlsError, type LockClientOptions } from '../../../src/index.ts';
import { everythingIn } from '../../../lab/everything-in.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { answered } from '../../../lab/proxy/frame-matches.ts';
import { onFreshPorts } from '../../../lab/servers/free-port.ts';
import { Telemetry } from '../../../lab/programs/open-telemetry.ts';
import { reached } from '../../../lab/reached.ts';
import { startRelay } from '../../../lab/proxy/relay.ts';
import { clientTls, keyFile } from '../../../lab/servers/tls-keys.ts';
import { Recording } from '../../../lab/traced.ts';

const password = 'Open-Sesame-4711';
const passphrase = 'Open-Barley-0815';

describe('no password and no key', () => {
  const lab = labOfEachTest('no-secrets', {
    server: { security: { tls: 'same-port', sasl: { alice: password } } },
    proxy: true,
    client: 'none',
  });
  let seen: unknown[];
  let recording: Recording;
  let telemetry: Telemetry;

  const options = (): LockClientOptions => ({
    tls: undefined,
    sasl: { mechanism: 'DIGEST-MD5', username: 'alice', password },
    logger: { warn: (...all) => void seen.push(all) },
  });
  const warned = (warning: Error): void => void seen.push(warning);

  beforeEach(async () => {
    seen = [];
    recording = new Recording();
    telemetry = await Telemetry.start();
    process.on('warning', warned);
  });

  afterEach(async () => {
    process.off('warning', warned);
    recording[Symbol.dispose]();
    const published = everythingIn([recording.messages, await telemetry.exported()]);
    await telemetry[Symbol.asyncDispose]();
    expect(seen).not.to.deep.equal([]);
    const shown = { depth: Infinity, showHidden: true, maxArrayLength: null, maxStringLength: null };
    const withoutForms = { ...shown, customInspect: false, showHidden: false };
    const texts = seen.flatMap((one) => [inspect(one, shown), inspect(one, withoutForms), JSON.stringify(one)]);
    const text = [...texts, published].join('\n');
    const [, key = ''] = readFileSync(keyFile('client', 'key'), 'utf8').split('\n');
    for (const secret of [password, Buffer.from(password).toString('hex'), passphrase, key, 'response='])
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
    seen.push(await rejection(new InterProcessMutex(client, lab.path).acquire({ timeoutMs: 100 })));
  });

  it('is in the error of a handshake that failed', async () => {
    const tls = { ...clientTls('client'), servername: 'other.test' };
    seen.push(await rejection(LockClient.connect(lab.server.secureConnectString, { ...options(), tls })));
  });

  it('is in what is published about a client that can decrypt its key no longer', async () => {
    const encryption = { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase } as const;
    const key = createPrivateKey(readFileSync(keyFile('client', 'key'))).export(encryption);
    let given: string = passphrase;
    let asked = 0;
    const tls = (): ConnectionOptions => {
      asked += 1;
      return { ...clientTls('client'), key, passphrase: given };
    };
    const [relay, connectString] = await onFreshPorts(1, async ([port = 0]) => {
      return [await startRelay('127.0.0.1', port, lab.server.port), `127.0.0.1:${port}`] as const;
    });
    const client = await lab.connect({ ...options(), tls }, connectString);
    const mutex = new InterProcessMutex(client, lab.path);
    const hold = await mutex.acquire();
    given = `not ${passphrase}`;
    await relay[Symbol.asyncDispose]();
    await until('the client has tried to connect again', () => asked > 1);
    const error = await rejection(mutex.acquire({ timeoutMs: 100 }));
    await client.close({ timeoutMs: 100 });
    await hold.release();
    seen.push(error);
    expect(error.cause).to.be.instanceOf(TlsError).with.property('problem', 'options');
    const { acquire, session } = recording.messages;
    expect(acquire.map((message) => message.error)).to.deep.equal([undefined, error]);
    expect(session.map(({ mode }) => mode)).to.deep.equal(['session', 'outage']);
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
