import { expect } from 'chai';
import { InterProcessMutex, ZooKeeperError, type AclEntry } from '../../../src/index.ts';
import { sharedZooKeeper } from '../../../lab/hooks.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { account, anyone, creatorOnly, digest, digestId, permission, type Account } from '../../../lab/wire/account.ts';

const secret = 'alice:open sesame';
const alice = digest(secret);

describe('a lock’s ACLs', () => {
  let connectString: string;
  let outside: Account;
  let owner: Account;

  before(async () => {
    ({ connectString } = await sharedZooKeeper());
    outside = await account(connectString);
    owner = await account(connectString, { auth: [alice] });
  });

  after(() => Promise.all([outside.client.close(), owner.client.close()]));

  const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));

  it('allow everything to everybody by default', async () => {
    const path = testPath('open');
    await using hold = await new InterProcessMutex(owner.client, path).acquire();
    for (const created of [parentOf(path), path, hold.path])
      expect(await outside.acl(created), created).to.deep.equal([anyone(permission.all)]);
  });

  it('with the scheme auth name the credentials of the creator, on the parents as well', async () => {
    const path = testPath('creator-only');
    await using mine = await account(connectString, { auth: [alice], acl: creatorOnly });
    const hold = await new InterProcessMutex(mine.client, path).acquire();
    for (const created of [parentOf(path), path, hold.path]) {
      expect(await owner.acl(created), created).to.deep.equal([
        { permissions: permission.all, scheme: 'digest', id: digestId(secret) },
      ]);
      expect(await rejection(outside.read(created)), created)
        .to.be.instanceOf(ZooKeeperError)
        .with.property('code', 'NO_AUTH');
    }
    expect(await hold.release()).to.equal('released');
  });

  it('with the scheme auth and a client without credentials are an error, and nothing is created', async () => {
    const path = testPath('no-credentials');
    expect(await rejection(account(connectString, { acl: creatorOnly })))
      .to.be.instanceOf(TypeError)
      .with.property('message')
      .that.contains("scheme 'auth'");
    await using mine = await account(connectString, { acl: () => creatorOnly });
    const error = await rejection(new InterProcessMutex(mine.client, path).acquire());
    expect(error).to.be.instanceOf(TypeError).with.property('message').that.contains(`acl("${path}/_c_`);
    expect(await rejection(outside.children(parentOf(path)))).to.have.property('code', 'NO_NODE');
  });

  it('of the application allow others exactly what they name', async () => {
    const path = testPath('own');
    const acl: readonly AclEntry[] = [
      { permissions: permission.all, scheme: 'digest', id: digestId(secret) },
      anyone(permission.read),
    ];
    await using mine = await account(connectString, { auth: [alice], acl });
    const hold = await new InterProcessMutex(mine.client, path).acquire();
    expect(await owner.acl(hold.path)).to.deep.equal(acl);
    const [holder] = await new InterProcessMutex(outside.client, path).participants();
    expect(holder?.path).to.equal(hold.path);
    expect((await rejection(new InterProcessMutex(outside.client, path).acquire())).cause).to.have.property(
      'code',
      'NO_AUTH',
    );
    expect(await hold.release()).to.equal('released');
  });

  it('come from a provider that is called with each path below the chroot, parents included', async () => {
    const path = testPath('provider');
    const chroot = parentOf(path);
    const asked = new Set<string>();
    await using mine = await account(`${connectString}${chroot}`, {
      auth: [alice],
      acl: (of) => {
        asked.add(of);
        return of === '/' ? [anyone(permission.all)] : creatorOnly;
      },
    });
    await using hold = await new InterProcessMutex(mine.client, '/provider/orders').acquire();
    expect([...asked]).to.include.members(['/', '/provider', '/provider/orders']);
    expect([...asked].filter((of) => of.startsWith(chroot))).to.deep.equal([]);
    expect(await outside.acl(chroot)).to.deep.equal([anyone(permission.all)]);
    for (const guarded of [path, `${path}/orders`, `${chroot}${hold.path}`])
      expect(await rejection(outside.read(guarded)), guarded).to.have.property('code', 'NO_AUTH');
  });

  for (const [kind, options] of [
    ['a lock with weights', { weights: {} }],
    ['a sticky lock', { sticky: { idleMs: 1_000 } }],
  ] as const)
    it(`without the permission to write are an error for ${kind}, and nothing is created`, async () => {
      const path = testPath('no-write');
      const acl = [anyone(permission.read | permission.create | permission.delete)];
      await using mine = await account(connectString, { acl });
      for (const acquire of ['acquire', 'tryAcquire'] as const) {
        const error = await rejection(new InterProcessMutex(mine.client, path, options)[acquire]());
        expect(error)
          .to.be.instanceOf(TypeError)
          .with.property('message')
          .that.contains(`let this client use ${kind}, got an ACL that does not give write (2)`);
      }
      expect(await rejection(outside.children(parentOf(path)))).to.have.property('code', 'NO_NODE');
      await (await new InterProcessMutex(mine.client, path).acquire()).release();
    });

  for (const [fault, broken, message] of [
    [
      'throws',
      () => {
        throw new RangeError('no such tenant');
      },
      'no such tenant',
    ],
    ['returns an empty list', () => [], 'Expected `acl("'],
    ['returns something else than a list', () => 'world', 'Expected `acl("'],
    ['returns permissions that do not exist', () => [{ permissions: 32, scheme: 'world', id: 'anyone' }], '1 to 31'],
  ] as const)
    it(`of a provider that ${fault}: the acquire rejects, and nothing is created`, async () => {
      const path = testPath('broken-provider');
      await using mine = await account(connectString, { acl: broken as () => AclEntry[] });
      const error = await rejection(new InterProcessMutex(mine.client, path).acquire());
      expect(error.message).to.contain(message);
      expect(await rejection(outside.children(parentOf(path)))).to.have.property('code', 'NO_NODE');
    });
});
