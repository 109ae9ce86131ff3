import { expect } from 'chai';
import { InterProcessMutex, InterProcessSemaphore, LockClient } from '../../../src/index.ts';
import { everythingIn } from '../../../lab/everything-in.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { Telemetry } from '../../../lab/programs/open-telemetry.ts';
import { channelNames, Recording } from '../../../lab/traced.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';

const password = 'p4ssw0rd-of-the-account';
const data = 'd4ta-of-the-znode';

describe('the messages of the tracing channels, and the spans and metrics of OpenTelemetry', () => {
  const lab = labOfEachTest('tracing-secrets', { server: 'own', proxy: true, client: 'none' });

  it('contain neither data nor a credential, whatever happens', async () => {
    using recording = new Recording();
    await using telemetry = await Telemetry.start();
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
    const znode = `${lab.path}-data`;
    await hold.transaction().create(znode, options.data).commit();
    await rejection(hold.transaction().setData(znode, options.data, { version: 1 }).commit());
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
    const messages = channelNames.flatMap((name): object[] => recording.messages[name]);
    const exported = await telemetry.exported();
    expect(messages.length).to.be.above(12);
    expect(channelNames.filter((name) => recording.messages[name].length === 0)).to.deep.equal([]);
    expect(recording.messages.transaction.map(({ outcome }) => outcome)).to.deep.equal(['committed', 'refused']);
    expect(new Set(telemetry.spans.map(({ name }) => name)).size).to.equal(3);
    expect(exported.length).to.be.above(telemetry.spans.length);
    const texts = [...messages, ...exported].map((each) => everythingIn(each));
    expect(everythingIn({ error: new Error(`by ${password}`) })).to.contain(password);
    for (const secret of [password, data, Buffer.from(data).toString('hex'), Buffer.from(data).toString('base64')])
      expect(texts.filter((text) => text.includes(secret))).to.deep.equal([]);
  });
});

async function expectRefused(connectString: string): Promise<void> {
  const auth = [{ scheme: 'no-such-scheme', credentials: password }];
  await rejection(LockClient.connect(connectString, { auth, connectionTimeoutMs: 3_000 }));
}
