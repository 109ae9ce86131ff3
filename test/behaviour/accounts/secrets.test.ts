import { expect } from 'chai';
import { inspect } from 'node:util';
import { InterProcessMutex, LockClient, type LockClientOptions } from '../../../src/index.ts';
import { answered, once } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { account, anyone, creatorOnly, permission } from '../../../lab/wire/account.ts';

const password = 'Open-Sesame-4711';
const credentials = `alice:${password}`;
const auth = [{ scheme: 'digest', credentials }];

/** The password as text, and as a buffer that is inspected or encoded. */
const traces = [
  password,
  inspect(Buffer.from(password)).slice('<Buffer '.length, -1),
  Buffer.from(password).toString('hex'),
  Buffer.from(credentials).toString('base64'),
];

describe('errors and the log contain no password', () => {
  const lab = labOfEachTest('secrets', { server: 'own', proxy: true, client: 'none' });
  /** Everything that a reader of logs may see: log lines, process warnings, and the errors that a test adds. */
  let logged: unknown[];
  let options: LockClientOptions;

  const warned = (warning: Error): void => void logged.push(warning);

  beforeEach(() => {
    logged = [];
    options = { auth, sessionTimeoutMs: 10_000, logger: { warn: (...all) => void logged.push(all) } };
    process.on('warning', warned);
  });

  afterEach(() => {
    process.off('warning', warned);
    expect(logged, 'something was logged').not.to.be.empty;
    const text = logged
      .map((one) => inspect(one, { depth: Infinity, showHidden: true, maxArrayLength: null, maxStringLength: null }))
      .join('\n');
    for (const trace of traces) expect(text).not.to.contain(trace);
  });

  it('when no server answers the first connection', async () => {
    await lab.proxy.refuse();
    logged.push(await rejection(LockClient.connect(lab.proxy.connectString, { ...options, connectionTimeoutMs: 50 })));
  });

  it('when the servers refuse the credentials on the first connection', async () => {
    logged.push(
      await rejection(
        LockClient.connect(lab.server.connectString, { ...options, auth: [{ scheme: 'palm-reading', credentials }] }),
      ),
    );
  });

  it('when the servers refuse the credentials later, and a hold is lost because of it', async () => {
    await using mine = await account(lab.proxy.connectString, options);
    const hold = await new InterProcessMutex(mine.client, testPath('refused-later')).acquire();
    once(lab.proxy, answered('auth'), { replaceError: -115 });
    lab.proxy.cut();
    logged.push(await aborted(hold.signal));
    await until('the failure is logged', () => logged.length > 1);
    logged.push(mine.client);
  });

  it('when an acquire is refused because another account created the lock', async () => {
    const path = testPath('refused');
    await using other = await account(lab.server.connectString, {
      auth: [{ scheme: 'digest', credentials: 'bob:under the rose' }],
      acl: creatorOnly,
    });
    await using mine = await account(lab.server.connectString, options);
    await using _hold = await new InterProcessMutex(other.client, path).acquire();
    const mutex = new InterProcessMutex(mine.client, path);
    logged.push(...(await Promise.all([mutex.acquire(), mutex.tryAcquire(), mutex.participants()].map(rejection))));
  });

  it('when the ACL is refused', async () => {
    await using mine = await account(lab.server.connectString, {
      ...options,
      acl: [{ permissions: permission.all, scheme: 'palm-reading', id: 'alice' }],
    });
    logged.push(await rejection(new InterProcessMutex(mine.client, testPath('bad-acl')).acquire()));
  });

  it('when a znode cannot be deleted', async () => {
    const path = testPath('undeletable');
    await using other = await account(lab.server.connectString);
    const parent = path.slice(0, path.lastIndexOf('/'));
    await other.create(parent, [anyone(permission.create, permission.read)]);
    await using mine = await account(lab.server.connectString, options);
    const hold = await new InterProcessMutex(mine.client, parent).acquire();
    const releasing = hold.release();
    await until('the failure is logged', () => logged.length > 0);
    await mine.client.close();
    logged.push(await releasing, hold);
  });

  it('when a reply cannot be parsed', async () => {
    await using mine = await account(lab.proxy.connectString, options);
    once(lab.proxy, answered('getChildren2'), { replaceError: 0 });
    await new InterProcessMutex(mine.client, testPath('unreadable')).withLock((hold) => void logged.push(hold));
    expect(logged).to.have.length.above(1);
  });

  it('when the session expires, a wait ends, or the client is closed', async () => {
    await using outside = await connectObserver(lab.server.connectString);
    const mine = await account(lab.server.connectString, options);
    const mutex = new InterProcessMutex(mine.client, testPath('expired'));
    const hold = await mutex.acquire();
    logged.push(await rejection(mutex.acquire({ timeoutMs: 20 })));
    const loss = aborted(hold.signal);
    await outside.endSession(mine.client);
    logged.push(await loss);
    const again = await mutex.acquire();
    const waiting = rejection(mutex.acquire());
    await mine.client.close();
    logged.push(await waiting, again.signal.reason, await rejection(mutex.acquire()), mine.client, mutex);
  });

  it('when the option is invalid', async () => {
    const bad: unknown[] = [
      credentials,
      { scheme: 'digest', credentials },
      [credentials],
      [['digest', credentials]],
      [{ credentials }],
      [{ scheme: '', credentials }],
      [{ scheme: 'digest', credential: credentials }],
      [{ scheme: 'digest', credentials: Buffer.from(credentials) }],
    ];
    for (const wrong of bad) {
      const error = await rejection(
        LockClient.connect(lab.server.connectString, { ...options, auth: wrong as typeof auth }),
      );
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain('`auth`');
      logged.push(error);
    }
  });
});
