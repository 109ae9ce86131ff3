import { expect } from 'chai';
import { InterProcessMutex, ZooKeeperError, type LockLostError } from '../../../src/index.ts';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection, until } from '../../../lab/until.ts';
import { startServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { account, anyone, creatorOnly, digest, permission, type Account } from '../../../lab/wire/account.ts';

describe('accounts that may not read each other’s znodes', () => {
  let path: string;
  let outside: Account;
  let alice: Account;
  let bob: Account;

  beforeEach(async () => {
    const { connectString } = await sharedZooKeeper();
    outside = await account(connectString);
    alice = await account(connectString, { auth: [digest('alice:open sesame')], acl: creatorOnly });
    bob = await account(connectString, { auth: [digest('bob:open barley')], acl: creatorOnly });
    path = testPath('shared');
    path = path.slice(0, path.lastIndexOf('/'));
    await outside.create(path, [anyone(permission.create, permission.read, permission.delete)]);
  });

  afterEach(() => Promise.all([outside, alice, bob].map((each) => each.client.close())));

  it('get the lock one after the other while nobody waits', async () => {
    for (const { client } of [alice, bob, alice]) {
      const hold = await new InterProcessMutex(client, path).acquire();
      expect(hold.isValid).to.equal(true);
      expect(await hold.release()).to.equal('released');
    }
  });

  it('cannot wait for each other: an acquire fails at once and leaves no znode', async () => {
    const hold = await new InterProcessMutex(alice.client, path).acquire();
    const error = await rejection(new InterProcessMutex(bob.client, path).acquire());
    expect(error.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(error.cause).to.be.instanceOf(ZooKeeperError).with.property('code', 'NO_AUTH');
    expect(error.message).to.contain(hold.path);
    await until('the znode of bob is gone', async () => (await outside.children(path)).length === 1);
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
  });

  it('get undefined from tryAcquire while the other one holds the lock', async () => {
    await using _hold = await new InterProcessMutex(alice.client, path).acquire();
    expect(await new InterProcessMutex(bob.client, path).tryAcquire()).to.equal(undefined);
  });

  it('can wait behind another client of the same account', async () => {
    const { connectString } = await sharedZooKeeper();
    await using again = await account(connectString, { auth: [digest('alice:open sesame')], acl: creatorOnly });
    const hold = await new InterProcessMutex(alice.client, path).acquire();
    const second = new InterProcessMutex(again.client, path).acquire();
    await until('the waiter is queued', async () => (await outside.children(path)).length === 2);
    await hold.release();
    expect((await second).isValid).to.equal(true);
    await (await second).release();
  });
});

describe('a holder that may not read its own znode', () => {
  let connectString: string;
  let warnings: string[];
  let mine: Account;

  beforeEach(async () => {
    ({ connectString } = await sharedZooKeeper());
    warnings = [];
    mine = await account(connectString, {
      sessionTimeoutMs: 10_000,
      acl: (path) => [anyone(path.includes('/_c_') ? permission.write : permission.all)],
      logger: { warn: (_details, message) => void warnings.push(message) },
    });
  });

  afterEach(() => mine.client.close());

  const openLock = async (): Promise<string> => {
    const path = testPath('write-only');
    const parent = path.slice(0, path.lastIndexOf('/'));
    await using outside = await account(connectString);
    await outside.create(parent);
    return parent;
  };

  it('holds the lock, logs that it cannot watch the znode, and releases the lock', async () => {
    const path = await openLock();
    const hold = await new InterProcessMutex(mine.client, path).acquire();
    await until('the failed watch is logged', () => warnings.length > 0);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.match(new RegExp(`^${hold.path} cannot be watched: NO_AUTH`));
    await mine.client.session.prove();
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
    expect(await mine.children(path)).to.deep.equal([]);
  });

  it('learns from a heartbeat that its znode was deleted', async () => {
    const path = await openLock();
    const hold = await new InterProcessMutex(mine.client, path).acquire();
    const loss = aborted(hold.signal);
    await mine.remove(hold.path);
    expect(((await loss) as LockLostError).reason).to.equal('node-deleted');
    expect(await hold.release()).to.equal('lost');
  });
});

describe('a server whose root znode is closed', () => {
  let server: ZooKeeperServer;
  let chrooted: string;

  before(async () => {
    server = await startServer();
    chrooted = `${server.connectString}/app`;
    await using admin = await account(server.connectString, { auth: [digest('admin:under the rose')] });
    await admin.create('/app');
    await admin.setAcl('/', creatorOnly);
  });

  after(() => server.stop());

  it('accepts clients, which use locks below an open chroot', async () => {
    await using mine = await account(chrooted, { connectionTimeoutMs: 5_000 });
    expect(await rejection(mine.children('/'))).to.have.property('code', 'NO_AUTH');
    const hold = await new InterProcessMutex(mine.client, '/orders').acquire({ timeoutMs: 5_000 });
    await mine.client.session.prove();
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
  });

  it('with a lock that forbids deleting: release settles in time, close() deletes', async () => {
    await using outside = await account(server.connectString);
    await outside.create('/app/undeletable', [anyone(permission.create, permission.read)]);
    const warnings: string[] = [];
    const mine = await account(chrooted, {
      sessionTimeoutMs: 4_000,
      logger: { warn: (_details, message) => void warnings.push(message) },
    });
    const hold = await new InterProcessMutex(mine.client, '/undeletable').acquire();
    expect(await hold.release()).to.equal('released');
    expect(warnings.join()).to.contain('/app/undeletable');
    expect(mine.client.state).to.equal('connected');
    expect(await outside.children('/app/undeletable')).to.have.length(1);
    await mine.client.close();
    expect(await outside.children('/app/undeletable')).to.deep.equal([]);
  });
});
