import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import { testPath } from '../../support/test-path.ts';
import { startServer, type ZooKeeperServer } from '../../support/zookeeper-server.ts';
import { account, anyone, creatorOnly, digest, permission } from './support/account.ts';

describe('a provider of access rights', () => {
  let server: ZooKeeperServer;

  before(async () => {
    server = await startServer();
  });

  after(() => server.stop());

  it('is asked with the path of the znode itself, as in Curator, so that a lock may be for all and its znodes for their creators', async () => {
    const path = testPath('by-znode');
    await using outside = await account(server.connectString);
    await using mine = await account(server.connectString, {
      auth: [digest('alice:open sesame')],
      acl: (of) => (of.startsWith(`${path}/`) ? creatorOnly : [anyone(permission.all)]),
    });
    const hold = await new InterProcessMutex(mine.client, path).acquire();
    expect(await outside.acl(path)).to.deep.equal([anyone(permission.all)]);
    expect((await mine.acl(hold.path))[0]?.scheme).to.equal('digest');
    await hold.release();
  });
});
