import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { createSequential, exists, openAcl } from '../../../src/zookeeper/wire/operations.ts';
import { protectedPrefix } from '../../../src/driver/names.ts';
import { weightedLockName } from '../../../src/weighted/weighted-name.ts';
import { forceRelease, InterProcessMutex, watchQueue, type Hold } from '../../../src/index.ts';
import { once, sent } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { rejection, until } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';

const weights = {};
const withoutWrite = [{ permissions: 1 + 4 + 8, scheme: 'world', id: 'anyone' }];

describe('the claim of a weighted mutex', () => {
  const lab = labOfEachTest('weights-claims', { server: 'own', proxy: true });
  let ours: InterProcessMutex;
  let theirs: InterProcessMutex;

  beforeEach(() => {
    [ours, theirs] = [
      new InterProcessMutex(lab.client, lab.path, { weights }),
      new InterProcessMutex(lab.other, lab.path, { weights }),
    ];
  });

  const isClaim = (frame: Frame): boolean =>
    frame.from === 'client' && frame.op === 'multi' && (frame.path ?? '').startsWith(`${lab.path}/`);

  /**
   * Holds back the client's next frame that matches. Resolves, when the frame is held back, with the function that lets
   * the frame continue.
   */
  const hold = (match = isClaim): Promise<() => void> => {
    let proceed = (): void => undefined;
    const delayUntil = new Promise<void>((resolve) => (proceed = resolve));
    return new Promise((resolve) => {
      const stop = lab.proxy.on((frame) => {
        if (!match(frame)) return undefined;
        stop();
        resolve(proceed);
        return { delayUntil };
      });
    });
  };
  /** Creates a waiting znode of the other client that never claims the lock, like a slow process. */
  const createIdleWaiter = (weight: number): Promise<unknown> =>
    lab.other.session.request(
      createSequential(
        `${lab.path}/${protectedPrefix(randomUUID(), weightedLockName(weight, 10))}`,
        new Uint8Array(0),
        openAcl,
      ),
    );

  it('is preceded by a watch on the own znode at once, if the predecessor is of another process', async () => {
    const holder = await theirs.acquire();
    const before = theirs.acquire();
    await lab.queueReaches(2);
    lab.proxy.clear();
    const waiting = ours.acquire();
    const own = (await lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'create2')).path;
    await lab.proxy.seen((frame) => frame.from === 'client' && frame.op === 'getData' && frame.path !== lab.path);
    const watched = (): (string | undefined)[] =>
      lab.proxy.frames.filter(({ from, op }) => from === 'client' && op === 'getData').map(({ path }) => path);
    await lab.client.session.request(exists('/'));
    expect(own).to.match(/lock-/);
    expect(watched().filter((path) => path?.startsWith(own ?? '?'))).to.have.length(1);
    await holder.release();
    await (await before).release();
    await (await waiting).release();
  });

  it('fails if an unseen client was quicker: both believe that they are next, and one holds', async () => {
    const held = hold();
    let isGranted = false;
    const light = ours.acquire({ weight: 2 }).then((grant) => {
      isGranted = true;
      return grant;
    });
    const proceed = await held;
    const [place] = await lab.observer.children(lab.path);
    const heavy = await theirs.acquire({ weight: 9 });
    proceed();
    const holder = heavy.path;
    await until('the late client waits for the holder', () =>
      lab.client.session.watches.paths('data').includes(holder),
    );
    expect(isGranted).to.equal(false);
    expect(heavy.isValid).to.equal(true);
    await heavy.release();
    await using next = await light;
    expect(next.path, 'it keeps its place').to.equal(`${lab.path}/${place}`);
    expect(next.fencingToken > heavy.fencingToken).to.equal(true);
  });

  it('fails if the own znode was deleted meanwhile; its owner queues up again', async () => {
    const held = hold();
    const acquiring = ours.acquire();
    const proceed = await held;
    const [name = ''] = await lab.observer.children(lab.path);
    await lab.observer.remove(`${lab.path}/${name}`);
    proceed();
    await using grant = await acquiring;
    expect(grant.path).to.not.equal(`${lab.path}/${name}`);
    expect(await lab.observer.read(lab.path)).to.contain(grant.path.slice(lab.path.length + 1));
  });

  it('is undone if its caller gives up while the claim is in flight', async () => {
    const held = hold();
    const controller = new AbortController();
    const acquiring = rejection(ours.acquire({ signal: controller.signal }));
    const proceed = await held;
    controller.abort(new Error('enough'));
    expect((await acquiring).message).to.equal('enough');
    proceed();
    await (await theirs.acquire()).release();
    await lab.queueReaches(0);
  });

  it('is an error with the cause if the server refuses it, and leaves no znode', async () => {
    const [parent = ''] = /^\/[^/]+/.exec(lab.path) ?? [];
    await lab.observer.create(parent);
    await lab.observer.create(lab.path, withoutWrite);
    const error = await rejection(ours.acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain('NO_AUTH').and.to.contain(lab.path);
    await lab.queueReaches(0);
  });

  it('whose answer was lost is looked for in a list behind a quorum write, also if the server put the write off', async () => {
    const holder = await theirs.acquire();
    const waiting = ours.acquire();
    await lab.queueReaches(2);
    const isAnswer = ({ from, op, path }: Frame): boolean =>
      from === 'server' && op === 'multi' && (path ?? '').startsWith(`${lab.path}/`);
    once(lab.proxy, isAnswer, () => {
      lab.proxy.clear();
      let writes = 0;
      lab.proxy.on((frame) => (sent('multi')(frame) && (writes += 1) === 2 ? { refuse: -127 } : undefined));
      return 'cut';
    });
    await holder.release();
    await using _granted = await waiting;
    const ops = lab.proxy.frames.filter(({ from }) => from === 'client').map(({ op }) => op);
    expect(ops.filter((op) => op === 'multi' || op === 'getChildren2')).to.deep.equal([
      'multi',
      'multi',
      'getChildren2',
      'multi',
      'getChildren2',
    ]);
  });

  it('is made in a new session by a waiter whose session has ended', async () => {
    const hold = await theirs.acquire();
    const waiting = ours.acquire({ weight: 5 });
    await lab.queueReaches(2);
    await lab.endSession();
    await until('the waiter is queued again', async () =>
      (await lab.observer.children(lab.path)).some((name) => name.includes('+05x') && name.endsWith('2')),
    );
    await hold.release();
    await using next = await waiting;
    expect(next.isValid).to.equal(true);
  });

  it('is not made by a waiter that is released by force: the waiter queues up at the end', async () => {
    const grant = await theirs.acquire();
    const paths: string[] = [];
    ours.on('queued', (event) => paths.push(event.path));
    const waiting = ours.acquire({ weight: 5 });
    await until('the waiter is queued', () => paths.length === 1);
    expect(await forceRelease(lab.other, paths[0] ?? '')).to.equal('released');
    await until('the waiter is queued again', () => paths.length === 2);
    await grant.release();
    await using next = await waiting;
    expect(next.path).to.equal(paths[1]);
  });

  it('is not repeated by a tryAcquire that was too late', async () => {
    await (await theirs.acquire()).release();
    const held = hold();
    const trying = ours.tryAcquire({ weight: 2 });
    const proceed = await held;
    await using _heavy = await theirs.acquire({ weight: 9 });
    proceed();
    expect(await trying).to.equal(undefined);
    await lab.queueReaches(1);
  });

  /**
   * A light waiter that may be overtaken once has found an idle waiter of weight 2 next, and is about to watch that waiter
   * and the claim. Its request passes `match`, and is held back until `proceed`. Meanwhile a waiter of weight 3 has held the
   * lock: the light waiter was overtaken, so a waiter that is one step heavier may not overtake it again. The light waiter is
   * next, and no departure wakes it.
   */
  const overtakenBeforeItWatches = async (
    match: (frame: Frame) => boolean,
  ): Promise<{ light: Promise<Hold>; proceed: () => void }> => {
    const strict = new InterProcessMutex(lab.client, lab.path, { weights: { overtakesPerWeight: 1 } });
    const first = await theirs.acquire();
    const light = strict.acquire({ weight: 1 });
    await until('the light waiter watches the holder', () =>
      lab.client.session.watches.paths('data').includes(first.path),
    );
    await createIdleWaiter(2);
    const held = hold(match);
    await first.release();
    const proceed = await held;
    await (await theirs.acquire({ weight: 3 })).release();
    return { light, proceed };
  };
  const watchesClaim = (frame: Frame): boolean =>
    frame.op === 'getData' && frame.path === lab.path && (frame.from === 'server' || frame.body.at(-1) === 1);

  it('wakes a waiter that is about to watch for the claim', async () => {
    const { light, proceed } = await overtakenBeforeItWatches(
      (frame) => frame.from === 'client' && watchesClaim(frame),
    );
    proceed();
    await (await light).release();
  });

  it('wakes a waiter whose request to watch for the claim was answered by a cut', async () => {
    // A request of somebody else, sent between the list and the watch, shows the client a transaction after the claim.
    // So the next connection reports no claim.
    const isOther = (frame: Frame): boolean => frame.from === 'client' && frame.op === 'exists' && frame.path === '/';
    const { light, proceed } = await overtakenBeforeItWatches((frame) => {
      if (frame.from === 'client' && frame.op === 'getChildren2' && frame.path === lab.path)
        void lab.client.session.request(exists('/'));
      return isOther(frame);
    });
    once(lab.proxy, (frame) => frame.from === 'server' && watchesClaim(frame), 'cut');
    proceed();
    await (await light).release();
  });

  it('reaches watchQueue although no znode is created or deleted', async () => {
    const controller = new AbortController();
    const seen: (number | undefined)[][] = [];
    const watching = (async () => {
      for await (const { holder, waiters } of watchQueue(lab.other, lab.path, { signal: controller.signal }))
        seen.push([holder?.weight, ...waiters.map(({ weight }) => weight)]);
    })();
    const sees = (...weights: number[]): Promise<void> =>
      until(`watchQueue shows ${String(weights)}`, () => JSON.stringify(seen.at(-1)) === JSON.stringify(weights));
    const held = hold();
    const light = ours.acquire({ weight: 2 });
    const proceed = await held;
    await createIdleWaiter(9);
    await sees(9, 2);
    proceed();
    await sees(2, 9);
    await (await light).release();
    await sees(9);
    controller.abort();
    await watching;
  });
});
