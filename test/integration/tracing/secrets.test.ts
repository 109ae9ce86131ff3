import { expect } from 'chai';
import { InterProcessMutex, InterProcessSemaphore, LockClient } from '../../../src/index.ts';
import { traceTransaction } from '../../../src/mutex/lock-tracing.ts';
import { labOfEachTest } from '../../../harness/lab.ts';
import { channelNames, Recording } from '../../../harness/traced.ts';
import { aborted, rejection, until } from '../../../harness/until.ts';

const password = 'p4ssw0rd-of-the-account';
const data = 'd4ta-of-the-znode';

describe('the messages of the tracing channels', () => {
  const lab = labOfEachTest('tracing-secrets', { server: 'own', proxy: true, client: 'none' });

  it('contain neither data nor a credential, whatever happens', async () => {
    using recording = new Recording();
    const auth = [{ scheme: 'digest', credentials: `orders:${password}` }];
    const acl = [{ permissions: 31, scheme: 'auth', id: '' }];
    const client = await lab.connect({ auth, acl, sessionTimeoutMs: 6_000 });
    const stranger = await lab.connect({}, lab.connectString);
    const mutex = new InterProcessMutex(client, lab.path);
    const options = { data: Buffer.from(data) };
    const hold = await mutex.acquire(options);
    await rejection(mutex.acquire({ ...options, timeoutMs: 20 }));
    await rejection(mutex.acquire({ ...options, signal: AbortSignal.abort() }));
    await mutex.tryAcquire(options);
    await traceTransaction(hold, () => Promise.resolve([data]));
    await rejection(new InterProcessMutex(stranger, lab.path).acquire({ timeoutMs: 500 }));
    lab.proxy.cut();
    await until('the outage is over', () => recording.events.includes('session asyncEnd'));
    await hold.release();
    const lost = await mutex.acquire({ ...options, leaseMs: 5 });
    await aborted(lost.signal);
    await lost.release();
    const [lease] = await new InterProcessSemaphore(client, `${lab.path}-s`, { maxLeases: 1 }).acquireMany(1, options);
    await lease?.release();
    await client.close();
    await expectRefused(lab.connectString);
    const texts = channelNames.flatMap((name) => recording.messages[name].map((message) => everythingIn(message)));
    expect(texts.length).to.be.above(12);
    expect(channelNames.filter((name) => recording.messages[name].length === 0)).to.deep.equal([]);
    expect(everythingIn({ error: new Error(`by ${password}`) })).to.contain(password);
    for (const secret of [password, data, Buffer.from(data).toString('hex'), Buffer.from(data).toString('base64')])
      expect(texts.filter((text) => text.includes(secret))).to.deep.equal([]);
  });
});

async function expectRefused(connectString: string): Promise<void> {
  const auth = [{ scheme: 'no-such-scheme', credentials: password }];
  await rejection(LockClient.connect(connectString, { auth, connectionTimeoutMs: 3_000 }));
}

/** Every string, number and byte that a reader of the value can reach. */
function everythingIn(value: unknown, seen = new Set<unknown>()): string {
  if (typeof value !== 'object' || value === null) return `${String(value)}\n`;
  if (seen.has(value)) return '';
  seen.add(value);
  if (value instanceof Uint8Array) return `${Buffer.from(value).toString('latin1')}\n`;
  const names = new Set<string>();
  for (
    let proto: object | null = value;
    proto !== null && proto !== Object.prototype;
    proto = Object.getPrototypeOf(proto) as object | null
  )
    for (const name of Object.getOwnPropertyNames(proto)) names.add(name);
  return [...names]
    .filter((name) => name !== 'constructor')
    .map((name) => `${name} ${everythingIn((value as Record<string, unknown>)[name], seen)}`)
    .join('');
}
