import { expect } from 'chai';
import { InterProcessMutex } from '../../../src/index.ts';
import {
  createEphemeral,
  createPersistent,
  openAcl,
  remove,
  type Operation,
} from '../../../src/zookeeper/wire/operations.ts';
import { multi } from '../../../src/zookeeper/wire/transaction.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { asUnknown } from '../../../lab/proxy/unknown-request.ts';
import { answered, once } from '../../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { anyone, permission } from '../../../lab/wire/account.ts';
import { setAcl } from '../operator/acl.ts';
import { WatchedBoard } from './board-of.ts';

const readers = [anyone(permission.all)];
const nobody = [anyone(permission.all - permission.read)];

for (const server of ['a server with recursive watches', 'an older server'] as const)
  describe(`the board of all locks, with znodes that it may not read, on ${server}`, () => {
    let shown: WatchedBoard;
    // Before the lab closes the client.
    afterEach(() => shown[Symbol.dispose]());

    const lab = labOfEachTest('hidden', { server: 'own', proxy: true });

    beforeEach(() => {
      if (server === 'an older server') lab.proxy.on(asUnknown('addWatch'));
    });

    const ask = <T>(operation: Operation<T>): Promise<T> =>
      lab.other.session.request(operation).then(({ value }) => value);
    const join = (number: number, acl = nobody, path = `${lab.path}/lock-`): Promise<string> =>
      ask(createEphemeral(`${path}000000000${number}`, Buffer.from('kazoo'), acl));
    const leave = (path: string): Promise<void> => ask(remove(path));
    const open = async (root = '/'): Promise<void> => {
      shown = new WatchedBoard(lab.client, root);
      await shown.live();
    };
    /** Creates a persistent lock, whose first participant can be read, and opens the board. */
    const openLock = async (root?: string): Promise<string> => {
      await ask(createPersistent(lab.path.slice(0, lab.path.lastIndexOf('/')), openAcl)).catch(() => undefined);
      await ask(createPersistent(lab.path, openAcl));
      const first = await join(0, readers);
      await open(root);
      expect(shown.lock(lab.path)).to.include({ state: 'held', unreadableSince: null });
      return first;
    };
    const unreadable = (): string[] => [...shown.board.unreadable.keys()];
    const states = (): unknown => [
      shown.lock(lab.path)?.state,
      ...(shown.queue(lab.path)?.holders ?? []),
      'before',
      ...(shown.queue(lab.path)?.waiters ?? []),
    ];
    const become = async (withinMs: number, ...wanted: unknown[]): Promise<void> => {
      const start = lab.now();
      await shown.shows(() => JSON.stringify(states()) === JSON.stringify(wanted));
      expect(lab.now() - start).to.be.at.most(withinMs);
    };

    for (const whole of ['/', 'the lock'] as const)
      it(`below ${whole}: says that a lock is not readable, and since when, until the znode has left`, async () => {
        const first = await openLock(whole === '/' ? '/' : lab.path);
        const before = shown.board.nowMs;
        const hidden = await join(1);
        await become(500, 'unreadable', first, 'before', hidden);
        const { unreadableSince, waiters } = shown.lock(lab.path) ?? {};
        expect(Date.parse(unreadableSince ?? '')).to.be.within(before, shown.board.nowMs);
        expect(waiters?.[0]).to.include({ unreadableSince, sequence: 1 });
        const known = new Set(['path', 'position', 'sequence', 'unreadableSince']);
        for (const [field, value] of Object.entries(waiters?.[0] ?? {}))
          if (!known.has(field)) expect(value, field).to.equal(null);
        expect(unreadable()).to.deep.equal([hidden]);
        const third = await join(2, readers);
        await become(500, 'unreadable', first, 'before', hidden, third);
        await leave(first);
        await become(500, 'unreadable', hidden, 'before', third);
        // Silence, as far as the watches of the data tell.
        await lab.sleep(3_000);
        expect(shown.lock(lab.path)?.unreadableSince).to.equal(unreadableSince);
        await leave(hidden);
        await become(500, 'held', third, 'before');
        expect(unreadable()).to.deep.equal([]);
        await leave(third);
        await become(500, 'free', 'before');
        const handed = [
          ['handed-over', first, hidden],
          ['handed-over', hidden, third],
          ['released', third, undefined],
        ];
        expect(shown.events).to.deep.equal(handed);
      });

    it('shows a new lock whose holder may not be read', async () => {
      await openLock();
      const path = `${lab.path}-new`;
      const holder = createEphemeral(`${path}/lock-0000000000`, Buffer.from('kazoo'), nobody);
      await ask(multi(createPersistent(path, openAcl), holder));
      const start = lab.now();
      await shown.shows(() => shown.lock(path)?.state === 'unreadable');
      expect(lab.now() - start).to.be.at.most(500);
    });

    it('names a hidden lock, and since when, until it is removed', async () => {
      await openLock();
      const path = `${lab.path}-hidden`;
      await ask(createPersistent(path, nobody));
      await shown.shows(() => unreadable().includes(path));
      expect(shown.lock(path)).to.equal(undefined);
      const since = shown.board.unreadable.get(path)?.sinceMs;
      await lab.sleep(5_000);
      expect(shown.board.unreadable.get(path)?.sinceMs).to.equal(since);
      await ask(remove(path));
      const start = lab.now();
      await shown.shows(() => !unreadable().includes(path));
      expect(lab.now() - start).to.be.at.most(1_500);
    });

    it('notices within a minute that a participant or a lock may not be read any more, and within a second that it may', async () => {
      const first = await openLock();
      await using other = await new InterProcessMutex(lab.other, `${lab.path}-other`).acquire();
      await shown.shows(() => shown.queue(`${lab.path}-other`)?.holders[0] === other.path);
      await setAcl(lab.other, first, 30);
      await become(61_000, 'unreadable', first, 'before');
      // The content that was read before is still shown.
      expect(shown.lock(lab.path)?.holders[0]).to.include({ data: 'kazoo' });
      await setAcl(lab.other, first, 31);
      await become(1_500, 'held', first, 'before');
      await setAcl(lab.other, lab.path, 30);
      await become(61_000, undefined, 'before');
      expect(unreadable()).to.deep.equal([lab.path]);
      await leave(first);
      await setAcl(lab.other, lab.path, 31);
      await shown.shows(() => unreadable().length === 0);
      expect(shown.lock(lab.path)).to.equal(undefined);
      await join(1);
      await become(500, 'unreadable', `${lab.path}/lock-0000000001`, 'before');
      expect(shown.events).to.deep.equal([
        ['granted', undefined, other.path],
        ['granted', undefined, `${lab.path}/lock-0000000001`],
      ]);
    });

    it('says of a lock that can be read again who holds it, not that it was granted', async () => {
      await openLock();
      const path = `${lab.path}-other`;
      await ask(createPersistent(path, nobody));
      await join(5, readers, `${path}/lock-`);
      await shown.shows(() => unreadable().includes(path));
      const isRead = (frame: Frame): boolean =>
        answered('getData')(frame) && frame.path?.startsWith(`${path}/`) === true;
      once(lab.proxy, isRead, () => ({ delayUntil: lab.sleep(300) }));
      await setAcl(lab.other, path, 31);
      await shown.shows(() => shown.lock(path)?.state === 'held');
      expect(shown.lock(path)?.holders[0]?.heldSince).to.equal(null);
      expect(shown.events).to.deep.equal([]);
    });

    it('keeps the time since when through a lost connection', async () => {
      await openLock();
      const hidden = await join(1);
      await shown.shows(() => unreadable().length === 1);
      const { unreadableSince } = shown.lock(lab.path) ?? {};
      await lab.sleep(2_000);
      const cut = shown.cutOff();
      lab.proxy.cut();
      await cut;
      await shown.live();
      expect(shown.lock(lab.path)).to.include({ state: 'unreadable', unreadableSince });
      await leave(hidden);
      await shown.shows(() => shown.lock(lab.path)?.state === 'held');
    });

    it('says nothing of the permits of a semaphore that it cannot tell from those that are awaited', async () => {
      await openLock();
      for (const path of ['', '/leases', '/locks']) await ask(createPersistent(`${lab.path}-s${path}`, openAcl));
      const turn = await join(1, nobody, `${lab.path}-s/locks/lock-`);
      await shown.shows(() => unreadable().length === 1);
      await join(1, readers, `${lab.path}-s/leases/lease-`);
      const semaphore = (): unknown => shown.lock(`${lab.path}-s`)?.state;
      await shown.shows(() => semaphore() === 'unreadable' && shown.lock(`${lab.path}-s`)?.waiterCount === 1);
      await leave(turn);
      await shown.shows(() => semaphore() === 'held');
      expect(shown.board.events.filter(({ path }) => path === `${lab.path}-s`)).to.deep.equal([]);
      await setAcl(lab.other, `${lab.path}-s/leases`, 30);
      await shown.shows(() => semaphore() === 'unreadable');
      expect(unreadable()).to.deep.equal([`${lab.path}-s/leases`]);
      await setAcl(lab.other, `${lab.path}-s/leases`, 31);
      await shown.shows(() => semaphore() === 'held');
      expect(shown.board.events.filter(({ path }) => path === `${lab.path}-s`)).to.deep.equal([]);
    });

    it('forgets a refused participant whose lock was refused in the same moment, when both have left', async () => {
      await openLock();
      const all = await Promise.all(Array.from({ length: 9 }, (_, index) => join(index + 1, readers)));
      // So many znodes that the second looks of a second are at ten: the lock and its participants.
      for (let left = 600; left > 0; left -= 1) await ask(createPersistent(`${lab.path}-${left}`, openAcl));
      for (const path of [...all, lab.path]) await setAcl(lab.other, path, permission.all - permission.read);
      await lab.sleep(130_000);
      for (const path of all) await leave(path);
      await setAcl(lab.other, lab.path, permission.all);
      await shown.shows(() => unreadable().length === 0);
    }).timeout(400_000);

    it('shows that a lock which is named as a participant can be read again', async () => {
      await openLock();
      const own = `${lab.path}/lock-0000000005`;
      await ask(createPersistent(own, openAcl));
      const child = await join(0, readers, `${own}/lock-`);
      await shown.shows(() => shown.lock(own)?.state === 'held');
      await setAcl(lab.other, own, permission.all - permission.read);
      await shown.shows(() => unreadable().includes(own));
      await setAcl(lab.other, own, permission.all);
      await shown.shows(() => unreadable().length === 0);
      await leave(child);
      await lab.sleep(65_000);
      expect(shown.lock(lab.path)).to.include({ state: 'held', unreadableSince: null });
    }).timeout(400_000);
  });
