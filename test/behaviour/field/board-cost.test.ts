import { expect } from 'chai';
import {
  createEphemeral,
  createPersistent,
  openAcl,
  remove,
  setData,
  type Operation,
} from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { WatchedBoard } from '../board/board-of.ts';

const systemError = -1;

describe('the board of all locks asks', () => {
  let shown: WatchedBoard;
  // Before the lab closes the client.
  afterEach(() => shown[Symbol.dispose]());

  const lab = labOfEachTest('cost', { server: 'own', proxy: true });

  const ask = <T>(operation: Operation<T>): Promise<T> =>
    lab.other.session.request(operation).then(({ value }) => value);
  const create = (path: string): Promise<unknown> => ask(createPersistent(path, openAcl));
  const join = (path: string, number: number): Promise<string> =>
    ask(createEphemeral(`${path}${String(number).padStart(10, '0')}`, Buffer.from('kazoo'), openAcl));
  const open = async (): Promise<void> => {
    shown = new WatchedBoard(lab.client, lab.path);
    await shown.live();
    lab.proxy.clear();
  };
  const lists = (): number => lab.proxy.frames.filter(sent('getChildren2')).length;

  beforeEach(async () => {
    await create(lab.path.slice(0, lab.path.lastIndexOf('/'))).catch(() => undefined);
    await create(lab.path);
  });

  const changes = async (count: number, everyMs: number): Promise<void> => {
    for (let round = 0; round < count; round += 1) {
      await ask(remove(await join(`${lab.path}/lock-`, 5_000 + round)));
      await lab.sleep(everyMs);
    }
  };

  it('for the list of a busy lock twenty times a second', async () => {
    await join(`${lab.path}/lock-`, 0);
    await open();
    const start = lab.now();
    await changes(100, 5);
    expect(lists()).to.be.within(5, 2 + (lab.now() - start) / 50);
  });

  it('more rarely for a long list', async () => {
    await Promise.all(Array.from({ length: 2_000 }, (_, index) => join(`${lab.path}/lock-`, index)));
    await open();
    await lab.sleep(1_000);
    lab.proxy.clear();
    const start = lab.now();
    await changes(60, 20);
    expect(lists()).to.be.within(3, 2 + (lab.now() - start) / 150);
  });

  const manyLocks = async (count: number): Promise<string[]> => {
    const paths = Array.from({ length: count }, (_, index) => `${lab.path}/${index}`);
    await Promise.all(paths.map(create));
    await Promise.all(paths.map((path) => join(`${path}/lock-`, 0)));
    await open();
    await lab.sleep(1_500);
    lab.proxy.clear();
    return paths;
  };

  it('for the lists of many locks a thousand times a second at most, and for each of them', async () => {
    const paths = await manyLocks(300);
    await Promise.all(paths.map((path) => join(`${path}/lock-`, 1)));
    await lab.sleep(60);
    expect(lists()).to.be.within(50, 200);
    await lab.sleep(1_000);
    expect(lists()).to.be.at.least(300);
  });

  it('for each znode once a minute while nothing changes', async () => {
    await manyLocks(300);
    await lab.sleep(30_000);
    const asked = lab.proxy.frames.filter((frame) => sent('getChildren2')(frame) || sent('getData')(frame));
    expect(asked.length).to.be.within(290, 360);
  });

  for (const [what, op] of [
    ['list', 'getChildren2'],
    ['data', 'getData'],
  ] as const)
    it(`again for ${what} that a server could not show, with pauses that double up to a minute`, async () => {
      const [path] = await manyLocks(3);
      const participant = `${path ?? ''}/lock-0000000000`;
      const refused = op === 'getData' ? participant : path;
      const isAnswer = (frame: Frame): boolean => answered(op)(frame) && frame.path === refused;
      const remove = lab.proxy.on((frame) => {
        if (!isAnswer(frame)) return undefined;
        const replaceWith = Buffer.alloc(20);
        replaceWith.writeInt32BE(16);
        frame.body.copy(replaceWith, 4, 0, 12);
        replaceWith.writeInt32BE(systemError, 16);
        return { replaceWith };
      });
      if (op === 'getData') await ask(setData(participant, Buffer.from('changed')));
      else await join(`${path ?? ''}/lock-`, 1);
      await shown.shows(() => shown.board.unreadable.has(refused ?? ''));
      const asked = (): number => lab.proxy.frames.filter(isAnswer).length;
      await lab.sleep(61_000);
      // The looks come after 1, 2, 4, … seconds. A look at a participant and one at its lock may come beside them.
      expect(asked()).to.be.within(5, 9);
      const before = asked();
      await lab.sleep(300_000);
      expect(asked() - before).to.be.within(3, 8);
      remove();
      await shown.shows(() => shown.board.unreadable.size === 0);
      expect(shown.lock(path ?? '')).to.include({ state: 'held', unreadableSince: null });
    }).timeout(900_000);

  it('and handles an answer before an event that arrives with it in one packet', async () => {
    const [locks, leases] = [`${lab.path}/locks`, `${lab.path}/leases`];
    for (const path of [locks, leases]) await create(path);
    await open();
    const [path, isList] = [`${locks}/lock-0000000001`, answered('getChildren2')];
    const withLength = ({ body }: Frame): Buffer => {
      const length = Buffer.alloc(4);
      length.writeInt32BE(body.length);
      return Buffer.concat([length, body]);
    };
    once(
      lab.proxy,
      (frame) => isList(frame) && frame.path === locks,
      (list) => {
        const hasLeft = (frame: Frame): boolean => frame.op === 'watch' && frame.path === path;
        once(lab.proxy, hasLeft, (event) => ({ replaceWith: Buffer.concat([list, event].map(withLength)) }));
        return 'drop';
      },
    );
    const listed = lab.proxy.seen((frame) => isList(frame) && frame.path === locks);
    await join(`${locks}/lock-`, 1);
    await listed;
    await ask(remove(path));
    await join(`${locks}/lock-`, 2);
    await join(`${leases}/lease-`, 2);
    await join(`${locks}/lock-`, 3);
    await lab.sleep(1_000);
    // Handled last, the list would bring back the turn that has left, whose second end would grant the permit.
    expect(shown.queue(lab.path)?.holders).to.deep.equal([]);
  });
});
