import { expect } from 'chai';
import {
  forceRelease,
  InterProcessMutex,
  revoke,
  ZooKeeperError,
  type Hold,
  type LockClientOptions,
} from '../../../src/index.ts';
import { account, digest, type Account } from '../../../lab/wire/account.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { needs } from '../../../lab/skip-without.ts';
import { clientTls } from '../../../lab/servers/tls-keys.ts';
import { rejection, until } from '../../../lab/until.ts';

const users = { alice: 'open sesame', mallory: 'open barley' };
const saslOf = (username: keyof typeof users): LockClientOptions => ({
  sasl: { mechanism: 'DIGEST-MD5', username, password: users[username] },
});

const owners: Readonly<Record<string, () => LockClientOptions>> = {
  digest: () => ({ auth: [digest('alice:open sesame')] }),
  sasl: () => saslOf('alice'),
  x509: () => ({ tls: clientTls('client') }),
};

const intruders: Readonly<Record<string, () => LockClientOptions>> = {
  'no account': () => ({ tls: undefined }),
  'a digest account': () => ({ auth: [digest('mallory:open barley')] }),
  'a sasl account': () => saslOf('mallory'),
  'an x509 account': () => ({ tls: clientTls('mallory') }),
};

interface Scene {
  readonly path: string;
  readonly hold: Hold;
  readonly waitingPath: string;
}

/** The attempts of each operation. All of them are refused. */
const operations: Readonly<Record<string, (by: Account, scene: Scene) => (() => Promise<unknown>)[]>> = {
  'see the queue or its data': (by, { path, hold, waitingPath }) => [
    () => by.children(path),
    () => by.read(hold.path),
    () => by.read(waitingPath),
    () => new InterProcessMutex(by.client, path).participants(),
    () => new InterProcessMutex(by.client, path).holder(),
  ],
  'join the queue': (by, { path }) => [
    () => new InterProcessMutex(by.client, path).acquire(),
    () => new InterProcessMutex(by.client, path).tryAcquire(),
    () => by.create(`${path}/in-the-way`),
  ],
  'revoke the lock': (by, { hold, waitingPath }) => [
    () => revoke(by.client, hold.path),
    () => by.write(hold.path, '__REVOKE__'),
    () => by.write(waitingPath, '__REVOKE__'),
  ],
  'remove the holder or the waiter': (by, { hold, waitingPath }) => [
    () => forceRelease(by.client, hold.path, { timeoutMs: 15_000 }),
    () => by.remove(hold.path),
    () => by.remove(waitingPath),
  ],
};

describe('a lock that is creator-only', () => {
  const lab = labOfEachTest('creator-only', {
    server: { security: { tls: 'same-port', sasl: users } },
    client: 'none',
  });

  /** One client of the account holds the lock, and another one waits for it. */
  const scene = async (holder: Account, waiter: Account): Promise<Scene & { readonly waiting: Promise<Hold> }> => {
    const mutex = new InterProcessMutex(holder.client, lab.path);
    const hold = await mutex.acquire();
    const waiting = new InterProcessMutex(waiter.client, lab.path).acquire();
    await until('the waiter is queued', async () => (await mutex.participants()).length === 2);
    return { path: lab.path, hold, waiting, waitingPath: (await mutex.participants())[1]?.path ?? '' };
  };

  for (const [ownerKind, owner] of Object.entries(owners))
    for (const [intruderKind, intruder] of Object.entries(intruders))
      for (const [operation, attempts] of Object.entries(operations))
        it(`of a ${ownerKind} account: a client with ${intruderKind} cannot ${operation}`, async function () {
          if (`${ownerKind} ${intruderKind}`.includes('x509')) needs(this, 'client.portUnification');
          const at = lab.server.secureConnectString;
          await using holder = await account(at, { ...owner(), acl: 'creator-only' });
          await using waiter = await account(at, { ...owner(), acl: 'creator-only' });
          await using mallory = await account(at, intruder());
          const { hold, waiting, waitingPath, path } = await scene(holder, waiter);
          for (const attempt of attempts(mallory, { path, hold, waitingPath })) {
            const error = (await rejection(attempt())) as Error & { cause?: unknown };
            expect(error instanceof ZooKeeperError ? error : error.cause)
              .to.be.instanceOf(ZooKeeperError)
              .with.property('code', 'NO_AUTH');
          }
          const names = (await holder.children(path)).map((name) => `${path}/${name}`);
          expect(names).to.have.members([hold.path, waitingPath]);
          expect(hold.isValid).to.equal(true);
          expect(await hold.release()).to.equal('released');
          expect((await waiting).path).to.equal(waitingPath);
          await (await waiting).release();
        });
});
