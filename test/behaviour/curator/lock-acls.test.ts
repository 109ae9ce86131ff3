import { expect } from 'chai';
import { InterProcessMutex, type AclEntry } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { account, anyone, permission } from '../../../lab/wire/account.ts';

const all: readonly AclEntry[] = [anyone(permission.all)];
const createAndRead: readonly AclEntry[] = [anyone(permission.create, permission.read)];

describe('TestLockACLs', () => {
  const lab = labOfEachTest('acls', { client: 'none' });

  it('testLockACLs: all created znodes have the ACL of the client, parents included', async () => {
    const acl: readonly AclEntry[] = [{ permissions: permission.all, scheme: 'ip', id: '0.0.0.0/0' }];
    const namespace = testPath('ns');
    await using server = await account(lab.connectString);
    await using mine = await account(`${lab.connectString}${namespace}`, { acl });
    const hold = await new InterProcessMutex(mine.client, '/bar').acquire();
    for (const path of [namespace, `${namespace}/bar`, `${namespace}${hold.path}`])
      expect(await server.acl(path), path).to.deep.equal(acl);
    await hold.release();
  });

  it('testACLsCreatingParents: each parent has the ACL of its own path below the chroot', async () => {
    const namespace = testPath('ns');
    await using server = await account(lab.connectString);
    await using mine = await account(`${lab.connectString}${namespace}`, {
      acl: (path) => (path === '/parent' ? createAndRead : all),
    });
    const hold = await new InterProcessMutex(mine.client, '/parent/foo').acquire();
    expect(await server.acl(`${namespace}/parent`)).to.deep.equal(createAndRead);
    expect(await server.acl(`${namespace}/parent/foo`)).to.deep.equal(all);
    await hold.release();
  });
});
