import { expect } from 'chai';
import { needs } from '../../lab/skip-without.ts';
import { chosenVersion } from '../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { account, anyone, permission, type Account } from '../../lab/wire/account.ts';
import {
  addRecursiveWatch,
  exists,
  getChildren,
  getData,
  setWatches,
  type Operation,
} from '../../src/zookeeper/wire/operations.ts';
import { EmbeddedZooKeeper } from '../../packages/testing/src/index.ts';
import { probeOf } from './probe.ts';

/** The rights that a client without an account has on a hidden znode: all but to read it. */
const hidden = [anyone(permission.all - permission.read)];

const { version: realVersion, withholds: realWithholds = false } = chosenVersion();

/** The events of a znode that the watcher may not read (CVE-2024-23944). The first versions of each line still send them. */
for (const [server, start, withholds] of [
  [`ZooKeeper ${realVersion}`, () => startRealServer(), realWithholds],
  ['an embedded server like 3.8.0', () => EmbeddedZooKeeper.start({ version: '3.8' }), true],
  ['an embedded server like 3.9.5', () => EmbeddedZooKeeper.start({ version: '3.9' }), true],
] as const)
  describe(`${server}, of a znode that the watcher may not read:`, () => {
    const lab = probeOf<ZooKeeperServer | EmbeddedZooKeeper>(start);
    const { ask } = lab;
    let admin: Account;
    let path: string;

    beforeEach(async () => {
      admin = await account(lab.server.connectString);
      path = `${lab.path}/lock`;
      await admin.create(path);
    });
    afterEach(() => admin.client.close());

    /** The events that have arrived before the answer to one more question. */
    const events = async (question: Operation<unknown> = exists('/')): Promise<string[]> => {
      await ask(question);
      return lab.probe.fired.map(({ path: of, event }) => `${event} ${of.slice(lab.path.length)}`);
    };
    const unlessWithheld = (...sent: string[]): string[] => (withholds ? [] : sent);

    it('a watch of its data is silent after a change of its rights, and is gone', async () => {
      await ask(getData(path, true));
      await admin.setAcl(path, hidden);
      await admin.write(path, 'x');
      expect(await events()).to.deep.equal(unlessWithheld('changed /lock'));
      await admin.setAcl(path, [anyone(permission.all)]);
      await admin.remove(path);
      expect(await events()).to.deep.equal(unlessWithheld('changed /lock'));
    });

    it('a watch of a missing znode is silent if it is created hidden', async () => {
      await admin.remove(path);
      await ask(exists(path, true)).catch(() => undefined);
      await admin.create(path, hidden);
      expect(await events()).to.deep.equal(unlessWithheld('created /lock'));
    });

    it('a watch of the children of its parent tells of its creation and of its deletion, on every server', async () => {
      for (const change of [() => admin.create(`${path}/1`, hidden), () => admin.remove(`${path}/1`)]) {
        await ask(getChildren(path, true));
        await change();
      }
      expect(await events()).to.deep.equal(['children /lock', 'children /lock']);
    });

    it('a watch of its children is silent after a change of its rights', async () => {
      await ask(getChildren(path, true));
      await admin.setAcl(path, hidden);
      await admin.create(`${path}/1`);
      expect(await events()).to.deep.equal(unlessWithheld('children /lock'));
    });

    it('a watch that is planted again on the next connection tells of its deletion, on every server', async () => {
      const { zxid } = await lab.probe.send(getData(path, false));
      await admin.setAcl(path, hidden);
      await admin.remove(path);
      expect(await events(setWatches(zxid, 'data', () => [path]))).to.deep.equal(['deleted /lock']);
    });

    it('a recursive watch is silent, and one of the children beside it on the same path is not', async function () {
      if (server.startsWith('ZooKeeper')) needs(this, 'addWatch');
      await ask(addRecursiveWatch(path));
      await ask(getChildren(path, true));
      await admin.create(`${path}/1`, hidden);
      await admin.write(`${path}/1`, 'x');
      await admin.remove(`${path}/1`);
      const sent = unlessWithheld('created /lock/1', 'changed /lock/1', 'deleted /lock/1');
      expect(await events()).to.have.members([...sent, 'children /lock']);
      // Neither watch has ended the other (ZOOKEEPER-4466).
      await ask(getChildren(path, true));
      await admin.create(`${path}/2`);
      await admin.write(`${path}/2`, 'x');
      expect((await events()).slice(sent.length + 1)).to.deep.equal([
        'created /lock/2',
        'children /lock',
        'changed /lock/2',
      ]);
    });
  });
