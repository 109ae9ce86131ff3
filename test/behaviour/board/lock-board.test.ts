import { expect } from 'chai';
import {
  forceRelease,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  revoke,
} from '../../../src/index.ts';
import {
  createEphemeral,
  createPersistent,
  createSequential,
  openAcl,
} from '../../../src/zookeeper/wire/operations.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { asUnknown } from '../../../lab/proxy/unknown-request.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { setData } from '../../../lab/semaphores.ts';
import { rejection, until } from '../../../lab/until.ts';
import { setAcl } from '../operator/acl.ts';
import { WatchedBoard } from './board-of.ts';

const bytes = (text: string): Buffer => Buffer.from(text);

for (const server of ['a server with recursive watches', 'an older server'] as const)
  describe(`the board of all locks, on ${server}`, () => {
    let shown: WatchedBoard;
    // Before the lab closes the client.
    afterEach(() => shown[Symbol.dispose]());

    const lab = labOfEachTest('board', {
      server: { containerCheckMs: 50 },
      proxy: true,
      client: { sessionTimeoutMs: 6_000 },
    });

    beforeEach(() => {
      if (server === 'an older server') lab.proxy.on(asUnknown('addWatch'));
    });

    const open = async (root = '/'): Promise<WatchedBoard> => {
      shown = new WatchedBoard(lab.client, root);
      await shown.live();
      expect(shown.board.isRecursive).to.equal(server !== 'an older server');
      return shown;
    };
    const queueIs = (path: string, holders: string[], waiters: number): Promise<void> =>
      shown.shows(() => {
        const queue = shown.queue(path);
        return queue?.holders.join() === holders.join() && queue.waiters.length === waiters;
      });

    it('shows a mutex that existed before, with its holder, its waiter and their data', async () => {
      const hold = await lab.theirs.acquire({ data: 'owner' });
      const waiting = lab.theirs.acquire({ data: bytes('a waiter') });
      await lab.queueReaches(2);
      await open();
      const lock = shown.lock(lab.path);
      expect(lock).to.include({ kind: 'mutex', state: 'held', waiterCount: 1 });
      expect(lock?.holders).to.have.length(1);
      expect(lock?.holders[0]).to.include({
        path: hold.path,
        position: 0,
        pid: process.pid,
        sessionId: `0x${lab.other.session.id.toString(16)}`,
        fencingToken: String(hold.fencingToken),
        heldSince: null,
      });
      expect(lock?.waiters[0]).to.include({ position: 1, data: 'a waiter', fencingToken: null });
      expect(shown.events).to.deep.equal([]);
      await hold.release();
      await (await waiting).release();
    });

    it('follows a mutex from its creation over a hand-over until its znode is removed', async () => {
      await open();
      const first = await lab.theirs.acquire();
      await queueIs(lab.path, [first.path], 0);
      expect(shown.lock(lab.path)?.holders[0]?.heldSince).to.be.a('string');
      const waiting = lab.theirs.acquire();
      await queueIs(lab.path, [first.path], 1);
      await first.release();
      const second = await waiting;
      await queueIs(lab.path, [second.path], 0);
      await second.release();
      await shown.shows(() => !shown.board.locks.has(lab.path));
      expect(shown.events).to.deep.equal([
        ['granted', undefined, first.path],
        ['handed-over', first.path, second.path],
        ['released', second.path, undefined],
      ]);
    });

    it('shows a lock below a root that does not exist yet, and again after the root was removed', async () => {
      await open(lab.path);
      const mutex = new InterProcessMutex(lab.other, `${lab.path}/a`);
      for (const round of [1, 2]) {
        const hold = await mutex.acquire();
        await queueIs(`${lab.path}/a`, [hold.path], 0);
        await hold.release();
        await until(`the server has removed the root, ${round}`, async () => !(await lab.observer.exists(lab.path)));
      }
    });

    it('shows the readers of a read/write lock as holders together, and a writer alone', async () => {
      const { readLock, writeLock } = new InterProcessReadWriteLock(lab.other, lab.path);
      await open();
      const readers = [await readLock.acquire(), await readLock.acquire()];
      const writing = writeLock.acquire();
      const late = readLock.acquire();
      await queueIs(
        lab.path,
        readers.map(({ path }) => path),
        2,
      );
      expect(shown.lock(lab.path)?.waiters.map(({ role }) => role)).to.deep.equal(['write', 'read']);
      for (const reader of readers) await reader.release();
      const writer = await writing;
      await queueIs(lab.path, [writer.path], 1);
      await writer.release();
      await (await late).release();
    });

    it('shows the permits of a semaphore, and the calls that wait for one', async () => {
      const semaphore = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
      await open();
      const leases = [await semaphore.acquire(), await semaphore.acquire()];
      const waiting = [semaphore.acquire(), semaphore.acquire()];
      await queueIs(
        lab.path,
        leases.map(({ path }) => path),
        2,
      );
      expect(shown.lock(lab.path)?.kind).to.equal('semaphore');
      expect([...shown.board.locks.keys()]).to.not.include(`${lab.path}/locks`);
      await leases[0]?.release();
      const third = await waiting[0];
      await queueIs(lab.path, [leases[1]?.path ?? '', third?.path ?? ''], 1);
      await leases[1]?.release();
      await third?.release();
      await (await waiting[1])?.release();
      await shown.shows(() => !shown.queue(lab.path)?.holders.length);
    });

    it('shows a call for a permit, whose turn began before the board could see that the last turn had ended, as a waiter', async () => {
      const semaphore = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
      await open();
      const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
      await queueIs(lab.path, [first.path, second.path], 0);
      const isRead = (frame: Frame): boolean =>
        sent('getData')(frame) && frame.path?.startsWith(`${lab.path}/locks/`) === true;
      let goOn = (): void => undefined;
      const turnOver = new Promise<void>((resolve) => (goOn = resolve));
      // The board has listed the waiters, and reads them when the first one is gone.
      const listed = new Promise<void>((resolve) =>
        once(lab.proxy, isRead, () => {
          resolve();
          return { delayUntil: turnOver };
        }),
      );
      const waiting = [semaphore.acquire(), semaphore.acquire()];
      await listed;
      await first.release();
      const third = await waiting[0];
      await until('the next call has created its permit', async () => {
        return (await lab.observer.children(`${lab.path}/leases`)).length === 3;
      });
      goOn();
      await queueIs(lab.path, [second.path, third?.path ?? ''], 1);
      await second.release();
      await third?.release();
      await (await waiting[1])?.release();
    });

    it('shows a semaphore whose empty container for waiters the servers have deleted', async () => {
      const semaphore = new InterProcessSemaphore(lab.other, lab.path, { maxLeases: 2 });
      await open();
      const leases = [await semaphore.acquire(), await semaphore.acquire()];
      const paths = leases.map(({ path }) => path);
      await queueIs(lab.path, paths, 0);
      const events = shown.board.events.length;
      await until('the container is deleted', async () => !(await lab.observer.exists(`${lab.path}/locks`)));
      await lab.sleep(2_000);
      await queueIs(lab.path, paths, 0);
      expect([...shown.board.locks.keys()]).to.deep.equal([lab.path]);
      expect(shown.board.events.length).to.equal(events);
      const third = semaphore.acquire();
      await queueIs(lab.path, paths, 1);
      for (const lease of leases) await lease.release();
      await (await third).release();
    });

    for (const when of ['before', 'after'] as const)
      it(`never calls the mutex of a new semaphore a lock, if it appears ${when} the board`, async () => {
        const { session } = lab.other;
        const create = (path: string) => session.request(createPersistent(`${lab.path}${path}`, openAcl));
        const enter = (path: string) => session.request(createEphemeral(`${lab.path}${path}`, bytes('me'), openAcl));
        if (when === 'after') await open();
        await session.request(createPersistent(lab.path.slice(0, lab.path.lastIndexOf('/')), openAcl));
        for (const path of ['', '/locks']) await create(path);
        await enter('/locks/lock-0000000000');
        if (when === 'before') await open();
        await lab.sleep(500);
        await create('/leases');
        await enter('/leases/lease-0000000000');
        await lab.observer.remove(`${lab.path}/locks/lock-0000000000`);
        await queueIs(lab.path, [`${lab.path}/leases/lease-0000000000`], 0);
        await lab.sleep(1_500);
        expect([...shown.board.locks.keys()]).to.deep.equal([lab.path]);
        expect(shown.events).to.deep.equal([['granted', undefined, `${lab.path}/leases/lease-0000000000`]]);
        for (const path of ['/leases/lease-0000000000', '/leases', '/locks', ''])
          await lab.observer.remove(lab.path + path);
      });

    it('shows a mutex that is named as that of a semaphore', async () => {
      await open();
      await using hold = await new InterProcessMutex(lab.other, `${lab.path}/locks`).acquire();
      await queueIs(`${lab.path}/locks`, [hold.path], 0);
      expect(shown.events).to.deep.equal([['granted', undefined, hold.path]]);
    });

    it('shows a lock with weights in the order of its grants', async () => {
      const weighted = new InterProcessMutex(lab.other, lab.path, { weights: {} });
      await open();
      const first = await weighted.acquire({ weight: 1 });
      const light = weighted.acquire({ weight: 1 });
      const heavy = weighted.acquire({ weight: 9 });
      await shown.shows(
        () =>
          shown
            .lock(lab.path)
            ?.waiters.map(({ weight }) => weight)
            .join() === '9,1',
      );
      expect(shown.queue(lab.path)?.holders).to.deep.equal([first.path]);
      expect(shown.lock(lab.path)?.holders[0]?.fencingToken).to.equal(String(first.fencingToken));
      await first.release();
      await queueIs(lab.path, [(await heavy).path], 1);
      await (await heavy).release();
      await queueIs(lab.path, [(await light).path], 0);
      await (await light).release();
    });

    it('shows an idle sticky lock as idle', async () => {
      const sticky = new InterProcessMutex(lab.other, lab.path, { sticky: { idleMs: 60_000 } });
      await open();
      const hold = await sticky.acquire();
      await shown.shows(() => shown.lock(lab.path)?.state === 'held');
      await hold.release();
      await shown.shows(() => shown.lock(lab.path)?.state === 'idle');
      expect(shown.lock(lab.path)?.holders[0]).to.include({ isIdle: true });
      await using _again = await sticky.acquire();
      await shown.shows(() => shown.lock(lab.path)?.state === 'held');
    });

    it('shows a request to release, keeps the owner’s data, and records that a lock was taken', async () => {
      await open();
      const hold = await lab.theirs.acquire({ data: bytes('nightly') });
      await queueIs(lab.path, [hold.path], 0);
      await revoke(lab.client, hold.path);
      await shown.shows(() => shown.lock(lab.path)?.holders[0]?.asked === 'revoke');
      expect(shown.lock(lab.path)?.holders[0]?.data).to.equal('nightly');
      await forceRelease(lab.client, hold.path, { timeoutMs: 1_500 });
      await shown.shows(() => !shown.queue(lab.path)?.holders.length);
      expect(shown.events.map(([type]) => type)).to.deep.equal(['granted', 'asked', 'taken']);
    });

    it('tells the end of a session from releases, if one of its znodes waited', async () => {
      const dying = await lab.connect({}, lab.connectString);
      await open();
      await using blocker = await lab.theirs.acquire();
      const held = await new InterProcessMutex(dying, `${lab.path}-2`).acquire();
      const waiting = new InterProcessMutex(dying, lab.path).acquire().catch(() => undefined);
      await queueIs(lab.path, [blocker.path], 1);
      await queueIs(`${lab.path}-2`, [held.path], 0);
      // The events of both znodes arrive together: the first one alone would be told as a release.
      lab.proxy.clear();
      const arrived = lab.proxy.seen(({ op }) => op === 'watch', 2);
      once(lab.proxy, ({ op }) => op === 'watch', { delayUntil: arrived });
      await dying.close();
      await shown.shows(() => shown.queue(`${lab.path}-2`)?.holders.length !== 1);
      expect(shown.events).to.deep.include(['lost', held.path, undefined]);
      await waiting;
    });

    it('tells a release from the end of a session that has another znode, also if a wait ends with it', async () => {
      const both = await lab.connect({}, lab.connectString);
      await open();
      await using blocker = await lab.theirs.acquire();
      await using kept = await new InterProcessMutex(both, `${lab.path}-3`).acquire();
      const held = await new InterProcessMutex(both, `${lab.path}-2`).acquire();
      const stop = new AbortController();
      const waiting = rejection(new InterProcessMutex(both, lab.path).acquire({ signal: stop.signal }));
      await queueIs(lab.path, [blocker.path], 1);
      await queueIs(`${lab.path}-2`, [held.path], 0);
      await queueIs(`${lab.path}-3`, [kept.path], 0);
      lab.proxy.clear();
      const arrived = lab.proxy.seen(({ op }) => op === 'watch', 2);
      once(lab.proxy, ({ op }) => op === 'watch', { delayUntil: arrived });
      stop.abort();
      await Promise.all([held.release(), waiting]);
      await shown.shows(() => shown.queue(`${lab.path}-2`)?.holders.length !== 1);
      expect(shown.events).to.deep.include(['released', held.path, undefined]);
    });

    it('shows the znodes of kazoo and go-zookeeper, and of an election', async () => {
      const { session } = lab.other;
      for (const path of [lab.path.slice(0, lab.path.lastIndexOf('/')), lab.path])
        await session.request(createPersistent(path, openAcl));
      for (const name of ['kazoo', 'latch']) await session.request(createPersistent(`${lab.path}/${name}`, openAcl));
      const kazoo = ['f', '0'].map((digit, index) => `${digit.repeat(32)}__lock__000000000${index + 5}`);
      for (const name of kazoo)
        await session.request(createEphemeral(`${lab.path}/kazoo/${name}`, Buffer.from('kazoo'), openAcl));
      for (const name of ['latch-0000000004', 'latch-0000000003'])
        await session.request(createEphemeral(`${lab.path}/latch/${name}`, Buffer.from('kazoo'), openAcl));
      await open();
      expect(shown.queue(`${lab.path}/kazoo`)?.holders).to.deep.equal([`${lab.path}/kazoo/${kazoo[0] ?? ''}`]);
      expect(shown.lock(`${lab.path}/kazoo`)).to.include({ kind: 'mutex', waiterCount: 1 });
      expect(shown.queue(`${lab.path}/latch`)?.holders).to.deep.equal([`${lab.path}/latch/latch-0000000003`]);
      expect(shown.lock(`${lab.path}/latch`)?.kind).to.equal('election');
    });

    const id = '_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-';
    for (const name of ['latch-', '__WRIT__', '__READ__', 'lock-+05x01-', 'lease-', `${'0'.repeat(32)}__rlock__`])
      for (const create of [createEphemeral, createPersistent])
        it(`shows a mutex, its holder and its waiter, beside ${name}… of ${create === createEphemeral ? 'another session' : 'no session'}`, async () => {
          const hold = await lab.theirs.acquire();
          const waiting = lab.mutex.acquire();
          await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === hold.path);
          const stray = `${lab.path}/${name.startsWith('0') ? '' : id}${name}0000000000`;
          const kindAndQueue = (): unknown => {
            const { kind, otherCount, holders, waiterCount } = shown.lock(lab.path) ?? {};
            return [kind, otherCount, holders?.map(({ path }) => path), waiterCount];
          };
          await open();
          await lab.other.session.request(
            create === createEphemeral
              ? createEphemeral(stray, Buffer.from('kazoo'), openAcl)
              : createPersistent(stray, openAcl),
          );
          await shown.shows(() => shown.lock(lab.path)?.otherCount === 1);
          expect(kindAndQueue()).to.deep.equal(['mutex', 1, [hold.path], 1]);
          const first = shown;
          await open();
          expect(kindAndQueue()).to.deep.equal(['mutex', 1, [hold.path], 1]);
          first[Symbol.dispose]();
          await hold.release();
          const next = await waiting;
          await shown.shows(() => shown.queue(lab.path)?.holders[0] === next.path);
          expect(kindAndQueue()).to.deep.equal(['mutex', 1, [next.path], 0]);
          await next.release();
          await lab.observer.remove(stray);
        });

    it('shows a mutex beside an older latch-…, which no session owns, when the queue is free, too', async () => {
      for (const path of [lab.path.slice(0, lab.path.lastIndexOf('/')), lab.path, `${lab.path}/latch-0000000000`])
        await lab.other.session.request(createPersistent(path, openAcl));
      const hold = await lab.other.session.request(
        createEphemeral(`${lab.path}/lock-0000000001`, bytes('kazoo'), openAcl),
      );
      await open();
      const stateAndQueue = (): unknown => [shown.lock(lab.path)?.state, shown.queue(lab.path)?.holders];
      expect(shown.lock(lab.path)?.kind).to.equal('mutex');
      expect(stateAndQueue()).to.deep.equal(['held', [hold.value]]);
      await lab.observer.remove(hold.value);
      await shown.shows(() => shown.lock(lab.path)?.state !== 'held');
      expect(shown.lock(lab.path)?.kind).to.equal('mutex');
      expect(stateAndQueue()).to.deep.equal(['unknown', []]);
      await lab.observer.remove(`${lab.path}/latch-0000000000`);
    });

    it('shows an election beside the znode of a mutex, and a semaphore beside that of an election', async () => {
      const { session } = lab.other;
      for (const path of [lab.path.slice(0, lab.path.lastIndexOf('/')), lab.path, `${lab.path}/latch`])
        await session.request(createPersistent(path, openAcl));
      const [leader, stray] = [`${lab.path}/latch/latch-0000000005`, `${lab.path}/latch/lock-0000000004`];
      for (const path of [leader, stray]) await session.request(createEphemeral(path, Buffer.from('kazoo'), openAcl));
      const semaphore = new InterProcessSemaphore(lab.other, `${lab.path}/semaphore`, { maxLeases: 1 });
      await using _permit = await semaphore.acquire();
      await session.request(createEphemeral(`${lab.path}/semaphore/leases/latch-0000000000`, bytes('kazoo'), openAcl));
      await open();
      expect(shown.lock(`${lab.path}/latch`)).to.include({ kind: 'election', otherCount: 1 });
      expect(shown.queue(`${lab.path}/latch`)?.holders).to.deep.equal([leader]);
      expect(shown.lock(`${lab.path}/semaphore`)).to.include({ kind: 'semaphore', holderCount: 1, otherCount: 1 });
    });

    it('shows hostile data as text, and cuts long data', async () => {
      await open();
      await using hold = await lab.theirs.acquire({ data: bytes('<script>alert(1)</script>') });
      await shown.shows(() => shown.lock(lab.path)?.holders[0]?.data === '<script>alert(1)</script>');
      const start = lab.now();
      await setData(lab.other, hold.path, Buffer.alloc(100_000, 'ä'));
      await shown.shows(() => shown.lock(lab.path)?.holders[0]?.dataBytes === 100_000);
      expect(lab.now() - start).to.be.at.most(500);
      expect(shown.lock(lab.path)?.holders[0]?.data).to.equal(`${'ä'.repeat(256)}…`);
      await setData(lab.other, hold.path, Buffer.from([0xff, 0xfe]));
      await shown.shows(() => shown.lock(lab.path)?.holders[0]?.data === '0xfffe');
    });

    it('says that it is cut off, and shows no stale row when it is back', async () => {
      await open();
      const first = await lab.theirs.acquire();
      const gone = await new InterProcessMutex(lab.other, `${lab.path}-gone`).acquire();
      await queueIs(`${lab.path}-gone`, [gone.path], 0);
      await queueIs(lab.path, [first.path], 0);
      await lab.proxy.refuse();
      const cut = shown.cutOff();
      lab.proxy.cut();
      await cut;
      expect(shown.board.state.is).to.equal('cut-off');
      expect(shown.queue(lab.path)?.holders).to.deep.equal([first.path]);
      const waiting = lab.theirs.acquire();
      await first.release();
      const second = await waiting;
      await gone.release();
      await until('the server has removed the lock', async () => !(await lab.observer.exists(`${lab.path}-gone`)));
      await using _other = await new InterProcessMutex(lab.other, `${lab.path}-new`).acquire();
      await lab.proxy.accept();
      await shown.live();
      expect([...shown.board.locks.keys()].sort()).to.deep.equal([lab.path, `${lab.path}-new`]);
      expect(shown.queue(lab.path)?.holders).to.deep.equal([second.path]);
      const during = shown.board.events.filter(({ duringOutage }) => duringOutage).map(({ type }) => type);
      expect(during.sort()).to.deep.equal(['granted', 'handed-over', 'released']);
      expect(shown.lock(lab.path)?.holders[0]?.heldSince).to.equal(null);
      await second.release();
    });

    it('shows the locks that exist when it is back on a new session, because its own has ended meanwhile', async () => {
      await open();
      const { id } = lab.client.session;
      const first = await lab.theirs.acquire();
      const gone = await new InterProcessMutex(lab.other, `${lab.path}-gone`).acquire();
      await queueIs(`${lab.path}-gone`, [gone.path], 0);
      await queueIs(lab.path, [first.path], 0);
      await lab.proxy.refuse();
      const cut = shown.cutOff();
      lab.proxy.cut();
      await cut;
      await lab.observer.endSession(lab.client);
      const waiting = lab.theirs.acquire();
      await first.release();
      const second = await waiting;
      await gone.release();
      await until('the server has removed the lock', async () => !(await lab.observer.exists(`${lab.path}-gone`)));
      await lab.proxy.accept();
      await shown.live();
      expect(lab.client.session.id).to.not.equal(id);
      expect([...shown.board.locks.keys()]).to.deep.equal([lab.path]);
      expect(shown.queue(lab.path)).to.deep.equal({ holders: [second.path], waiters: [] });
      // The watches of the new session work.
      await second.release();
      await shown.shows(() => !shown.board.locks.has(lab.path));
    });

    it('shows no row of a lock that may not be listed any more, and does not say that it was released', async () => {
      await open();
      const hold = await lab.theirs.acquire();
      const other = await new InterProcessMutex(lab.other, `${lab.path}-other`).acquire();
      const free = `${lab.path}-free`;
      await lab.other.session.request(createPersistent(free, openAcl));
      const short = await new InterProcessMutex(lab.other, free).acquire();
      await queueIs(free, [short.path], 0);
      await short.release();
      await queueIs(lab.path, [hold.path], 0);
      await queueIs(`${lab.path}-other`, [other.path], 0);
      await queueIs(free, [], 0);
      for (const path of [lab.path, free]) await setAcl(lab.other, path, 30);
      const cut = shown.cutOff();
      lab.proxy.cut();
      await cut;
      await shown.live();
      expect([...shown.board.locks.keys()]).to.deep.equal([`${lab.path}-other`]);
      expect([...shown.board.unreadable.keys()].sort()).to.deep.equal([lab.path, free]);
      // The recursive watch may report a newcomer, which is not the holder although nobody before it is known.
      const newcomer = createSequential(`${lab.path}/${'f'.repeat(32)}__lock__`, bytes('kazoo'), openAcl);
      await lab.other.session.request(newcomer);
      const later = await new InterProcessMutex(lab.other, `${lab.path}-later`).acquire();
      await queueIs(`${lab.path}-later`, [later.path], 0);
      expect(shown.lock(lab.path)).to.equal(undefined);
      const ofLock = shown.board.events.filter(({ path }) => path === lab.path).map(({ type }) => type);
      expect(ofLock).to.deep.equal(['granted']);
      for (const each of [later, other, hold]) await each.release();
    });

    it('shows the locks below a znode again that may be listed again', async () => {
      await open();
      await using first = await lab.theirs.acquire();
      await queueIs(lab.path, [first.path], 0);
      for (const permissions of [30, 31]) {
        await setAcl(lab.other, lab.path.slice(0, lab.path.lastIndexOf('/')), permissions);
        const cut = shown.cutOff();
        lab.proxy.cut();
        await cut;
        await shown.live();
        expect(shown.board.locks.has(lab.path)).to.equal(permissions === 31);
        expect(shown.events.filter(([type]) => type === 'released')).to.deep.equal([]);
      }
      expect(shown.queue(lab.path)).to.deep.equal({ holders: [first.path], waiters: [] });
    });
  });

describe('the board of all locks, when the server starts again', () => {
  const lab = labOfEachTest('board', { server: { containerCheckMs: 50 }, proxy: true });

  it('shows the locks that exist then, and follows them', async () => {
    using shown = new WatchedBoard(lab.client, '/');
    await shown.live();
    const first = await lab.theirs.acquire();
    const gone = await new InterProcessMutex(lab.other, `${lab.path}-gone`).acquire();
    await shown.shows(() => shown.queue(`${lab.path}-gone`)?.holders.length === 1);
    await lab.proxy.refuse();
    const cut = shown.cutOff();
    await lab.server.kill();
    await cut;
    expect([...shown.board.locks.keys()].sort()).to.deep.equal([lab.path, `${lab.path}-gone`]);
    await lab.server.start();
    const waiting = lab.theirs.acquire();
    await gone.release();
    await using other = await new InterProcessMutex(lab.other, `${lab.path}-new`).acquire();
    await until('the server has removed the lock', async () => !(await lab.observer.exists(`${lab.path}-gone`)));
    await lab.queueReaches(2);
    await lab.proxy.accept();
    await shown.live();
    expect([...shown.board.locks.keys()].sort()).to.deep.equal([lab.path, `${lab.path}-new`]);
    expect(shown.queue(lab.path)?.holders).to.deep.equal([first.path]);
    expect(shown.queue(lab.path)?.waiters).to.have.length(1);
    expect(shown.queue(`${lab.path}-new`)).to.deep.equal({ holders: [other.path], waiters: [] });
    await first.release();
    await using second = await waiting;
    await shown.shows(() => shown.queue(lab.path)?.holders[0] === second.path);
  });
});
