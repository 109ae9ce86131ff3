import { expect } from 'chai';
import { aborted, rejection } from '../../lab/until.ts';
import { account, anyone, creatorOnly, digest, digestId, permission, type Account } from '../../lab/wire/account.ts';
import { testPath } from '../../lab/test-path.ts';
import { AuthFailedError, InterProcessMutex, LockClient, ZooKeeperError, type AclEntry } from '../../src/index.ts';
import { exists, getData, openAcl, remove, setData } from '../../src/zookeeper/wire/operations.ts';
import { multi, checkExists } from '../../src/zookeeper/wire/transaction.ts';
import { chosenVersion } from '../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';

const alices = digest('alice:open sesame');

describe('the access rights of a real server', () => {
  let server: ZooKeeperServer;
  let admin: Account;
  let stranger: Account;
  let path: string;

  before(async () => {
    server = await startRealServer();
    [admin, stranger] = await Promise.all([
      account(server.connectString, { auth: [alices], sessionTimeoutMs: 30_000 }),
      account(server.connectString, { sessionTimeoutMs: 30_000 }),
    ]);
  });
  after(async () => {
    await Promise.all([admin.client.close(), stranger.client.close()]);
    await server.stop();
  });

  /** Makes the znode of this test, with a child, and with these rights for a client without an account. */
  const withRights = async (acl: readonly AclEntry[]): Promise<void> => {
    path = testPath('').slice(0, -1);
    await admin.create(path, creatorOnly);
    await admin.create(`${path}/child`, openAcl);
    await admin.setAcl(path, [...creatorOnly, ...acl]);
  };

  const outcome = (attempt: Promise<unknown>): Promise<string> =>
    attempt.then(
      () => 'allowed',
      (error: unknown) => (error instanceof ZooKeeperError ? error.code : String(error)),
    );

  const attempts: Readonly<
    Record<string, { readonly needs: number; readonly tries: (by: Account) => Promise<unknown> }>
  > = {
    'read the data': { needs: permission.read, tries: (by) => by.read(path) },
    'list the children': { needs: permission.read, tries: (by) => by.children(path) },
    'write the data': { needs: permission.write, tries: (by) => by.write(path, 'text') },
    'create a child': { needs: permission.create, tries: (by) => by.create(`${path}/new`) },
    'delete a child': { needs: permission.delete, tries: (by) => by.remove(`${path}/child`) },
    'change the rights': { needs: permission.admin, tries: (by) => by.setAcl(path, openAcl) },
  };

  for (const [what, { needs, tries }] of Object.entries(attempts)) {
    it(`let a client ${what} with that permission alone`, async () => {
      await withRights([anyone(needs)]);
      expect(await outcome(tries(stranger))).to.equal('allowed');
    });

    it(`do not let a client ${what} with all other permissions`, async () => {
      await withRights([anyone(permission.all - needs)]);
      expect(await outcome(tries(stranger))).to.equal('NO_AUTH');
      expect(await outcome(tries(admin))).to.equal('allowed');
    });
  }

  it('refuse a transaction as a whole if one part is not allowed', async () => {
    await withRights([anyone(permission.read)]);
    const send = stranger.client.session;
    const answer = (
      await send.request(multi(setData(`${path}/child`, Buffer.from('x')), setData(path, Buffer.from('x'))))
    ).value;
    expect(answer.is === 'refused' && answer.errors.map((error) => error?.code)).to.deep.equal([undefined, 'NO_AUTH']);
    expect(await stranger.read(`${path}/child`)).to.equal('');
  });

  it('let a client ask whether a znode exists: every client, or on newer servers one that may read it', async () => {
    const ask = (): Promise<string> => outcome(stranger.client.session.request(exists(path)));
    await withRights([]);
    expect(await ask()).to.equal(chosenVersion().existsNeedsRead ? 'NO_AUTH' : 'allowed');
    await withRights([anyone(permission.read)]);
    expect(await ask()).to.equal('allowed');
  });

  it('need the permission to read for the check of a znode in a transaction', async () => {
    await withRights([]);
    const { value: answer } = await stranger.client.session.request(multi(checkExists(path)));
    expect(answer.is === 'refused' && answer.error.code).to.equal('NO_AUTH');
  });

  it('store an account as the hash of its password, and show `auth` as the accounts of the creator', async () => {
    await withRights([]);
    expect(await admin.acl(path)).to.deep.equal([
      { permissions: permission.all, scheme: 'digest', id: digestId('alice:open sesame') },
    ]);
  });

  for (const [what, acl] of Object.entries<readonly AclEntry[]>({
    'an unknown scheme': [{ permissions: 31, scheme: 'no-such-scheme', id: 'x' }],
    'an account that is none': [{ permissions: 31, scheme: 'digest', id: 'no colon' }],
    'no entry': [],
    '`auth` without an account': creatorOnly,
  }))
    it(`refuse a znode whose ACL has ${what}`, async () => {
      expect(await outcome(stranger.create(testPath('').slice(0, -1), acl))).to.equal('INVALID_ACL');
    });

  it('are refused to a client whose scheme of `auth` the server does not know', async () => {
    const connecting = LockClient.connect(server.connectString, {
      auth: [{ scheme: 'no-such-scheme', credentials: 'x' }],
    });
    expect(await rejection(connecting)).to.be.instanceOf(AuthFailedError);
  });

  it('let the holder of a lock lose it when another client may delete its znode', async () => {
    await withRights([anyone(permission.all)]);
    const hold = await new InterProcessMutex(admin.client, `${path}/lock`).acquire();
    await stranger.client.session.request(remove(hold.path));
    await aborted(hold.signal);
    expect(hold.isValid).to.equal(false);
    expect(await outcome(stranger.client.session.request(getData(hold.path, false)))).to.equal('NO_NODE');
  });
});
