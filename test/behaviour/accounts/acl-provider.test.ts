import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { account, anyone, creatorOnly, digest, permission } from '../../../lab/wire/account.ts';

describe('an ACL provider', () => {
  const lab = labOfEachTest('acl-provider', { server: 'own', client: 'none' });

  it('is called with the path of each znode, so that the lock and its znodes can have different ACLs', async () => {
    const path = testPath('by-znode');
    await using outside = await account(lab.server.connectString);
    await using mine = await account(lab.server.connectString, {
      auth: [digest('alice:open sesame')],
      acl: (of) => (of.startsWith(`${path}/`) ? creatorOnly : [anyone(permission.all)]),
    });
    await using hold = await new InterProcessMutex(mine.client, path).acquire();
    expect(await outside.acl(path)).to.deep.equal([anyone(permission.all)]);
    expect((await mine.acl(hold.path))[0]?.scheme).to.equal('digest');
  });

  it('is called with paths below the chroot, and with / if the chroot itself is missing', async () => {
    const chroot = testPath('app');
    const asked: string[] = [];
    const mayOnlyBeRead = [anyone(permission.read, permission.create, permission.delete)];
    await using outside = await account(lab.server.connectString);
    await using mine = await account(`${lab.server.connectString}${chroot}`, {
      acl: (path) => {
        asked.push(path);
        return path === '/' || path === '/locks' ? [anyone(permission.all)] : mayOnlyBeRead;
      },
    });
    await using hold = await new InterProcessMutex(mine.client, '/locks/orders').acquire();
    const ofNode = `${hold.path.slice(0, hold.path.indexOf('_c_'))}_c_`;
    expect(new Set(asked.map((path) => path.replace(/_c_.*/, '_c_')))).to.deep.equal(
      new Set([ofNode, '/', '/locks', '/locks/orders']),
    );
    for (const path of [chroot.slice(0, chroot.lastIndexOf('/')), chroot, `${chroot}/locks`])
      expect(await outside.acl(path)).to.deep.equal([anyone(permission.all)]);
    for (const path of [`${chroot}/locks/orders`, `${chroot}${hold.path}`])
      expect(await outside.acl(path)).to.deep.equal(mayOnlyBeRead);
  });

  it('is called with the full path if a name below the chroot begins with the name of the chroot', async () => {
    const chroot = testPath('app');
    const asked: string[] = [];
    await using mine = await account(`${lab.server.connectString}${chroot}`, {
      acl: (path) => {
        asked.push(path);
        return [anyone(permission.all)];
      },
    });
    await new InterProcessMutex(mine.client, `${chroot}lication`).withLock(() => undefined);
    expect(new Set(asked.map((path) => path.replace(/_c_.*/, '_c_')))).to.deep.equal(
      new Set(['/', chroot.slice(0, chroot.lastIndexOf('/')), `${chroot}lication`, `${chroot}lication/_c_`]),
    );
  });

  it('that throws for a parent fails the acquires that need it, and no later one', async () => {
    const path = testPath('throws');
    let isBroken = true;
    await using mine = await account(lab.server.connectString, {
      acl: (of) => {
        if (isBroken && of === path) throw new Error('no ACL');
        return [anyone(permission.all)];
      },
    });
    const mutex = new InterProcessMutex(mine.client, path);
    for (const error of await Promise.all([mutex.acquire(), mutex.acquire()].map(rejection)))
      expect(error.message).to.equal('no ACL');
    isBroken = false;
    await mutex.withLock(() => undefined);
  });
});
