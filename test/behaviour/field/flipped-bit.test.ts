import { expect } from 'chai';
import { InterProcessMutex, InterProcessReadWriteLock, type LockClient } from '../../../src/index.ts';
import { createEphemeral } from '../../../src/zookeeper/wire/operations.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { withFlippedBit } from '../../../lab/proxy/flipped-bit.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { until } from '../../../lab/until.ts';
import { asUnknown } from '../../../lab/proxy/unknown-request.ts';
import { anyone, permission } from '../../../lab/wire/account.ts';
import { setAcl } from '../operator/acl.ts';
import { isFree, keepsWarnings, leftOn } from './support.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';

const sessionTimeoutMs = 4_000;

const mutexes = (client: LockClient, path: string): InterProcessMutex => new InterProcessMutex(client, path);

describe('FIELD D2: one flipped bit', () => {
  const lab = labOfEachTest('flipped', { server: 'own', proxy: true });

  /** Changes the digit of the uuid's version, so that the name remains one of a lock. Other digits may become no digit. */
  const flipUuid = (op: Frame['op']): void =>
    once(lab.proxy, sent(op), (frame) => {
      const at = frame.body.lastIndexOf(`${lab.path}/_c_`) + `${lab.path}/_c_xxxxxxxx-xxxx-`.length;
      return { replaceWith: withFlippedBit(frame, at, 0) };
    });

  /** Changes the last character of the lock's path from `a` to `c`: the znode is created below another lock. */
  const flipPath = (path: string): void =>
    once(lab.proxy, sent('create2'), (frame) => {
      const at = frame.body.indexOf(`${path}/_c_`) + path.length - 1;
      return { replaceWith: withFlippedBit(frame, at, 1) };
    });

  it('leaves a znode below another lock, which is deleted at once, and keeps its session', async () => {
    const [path, elsewhere] = [`${lab.path}/a`, `${lab.path}/c`];
    for (const each of [path, elsewhere]) await new InterProcessMutex(lab.other, each).withLock(() => undefined);
    flipPath(path);
    const before = lab.client.health().sessionId;
    await mutexes(lab.client, path).withLock(() => undefined);
    await until('the znode is gone', () => isFree(mutexes(lab.other, elsewhere), 100));
    expect(lab.client.health().sessionId).to.equal(before);
  });

  for (const [what, isHeld] of [
    ['ends its session if that holds nothing', false],
    ['ends its session when that holds nothing any more', true],
  ] as const)
    it(`at servers before 3.6, which do not list a session's znodes, ${what}`, async () => {
      const kept = keepsWarnings();
      await using client = await lab.connect({ sessionTimeoutMs, logger: kept.logger }, lab.proxy.connectString);
      const [path, elsewhere] = [`${lab.path}/a`, `${lab.path}/c`];
      for (const each of [path, elsewhere]) await (await new InterProcessMutex(lab.other, each).acquire()).release();
      const held = isHeld ? await new InterProcessMutex(client, `${lab.path}/held`).acquire() : undefined;
      lab.proxy.on(asUnknown('getEphemerals'));
      flipPath(path);
      const before = client.health().sessionId;
      const hold = await mutexes(client, path).acquire();
      if (held) {
        await lab.sleep(3 * sessionTimeoutMs);
        expect(held.isValid).to.equal(true);
        expect((await leftOn(lab, elsewhere)).some((line) => line.includes(`${elsewhere}/`))).to.equal(true);
        await hold.release();
        // The session ends when the server has answered the delete.
        const startedAt = lab.now();
        const isItsDelete = (frame: Frame): boolean => answered('delete')(frame) && frame.path === held.path;
        once(lab.proxy, isItsDelete, { delayUntil: lab.sleep(500) });
        expect(await held.release()).to.equal('released');
        expect(lab.now() - startedAt).to.be.within(500, 600);
      }
      await until(
        'the znode is gone',
        () => isFree(mutexes(lab.other, elsewhere), sessionTimeoutMs),
        2 * sessionTimeoutMs,
      );
      if (!isHeld) expect(await hold.release()).to.equal('released');
      await using _again = await mutexes(client, path).acquire();
      expect(client.health().sessionId).to.not.equal(before);
      expect(kept.warnings.filter((each) => each.includes('may be anywhere'))).to.have.length(1);
    });

  it('keeps its session there if the znode is found by its name', async () => {
    await using client = await lab.connect({ sessionTimeoutMs }, lab.proxy.connectString);
    await (await lab.theirs.acquire()).release();
    lab.proxy.on(asUnknown('getEphemerals'));
    flipUuid('create2');
    const before = client.health().sessionId;
    await (await mutexes(client, lab.path).acquire()).release();
    await lab.sleep(2 * sessionTimeoutMs);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
    await (await mutexes(client, lab.path).acquire()).release();
    expect(client.health().sessionId).to.equal(before);
  });

  it('in each of two creates: both znodes are found by their names', async () => {
    await lab.mutex.withLock(() => undefined);
    lab.proxy.on(asUnknown('getEphemerals'));
    for (const _ of [1, 2]) flipUuid('create2');
    await Promise.all([1, 2].map(() => lab.mutex.withLock(() => undefined)));
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('leaves a znode, and one of another session that resembles it as much is not deleted', async () => {
    await lab.mutex.withLock(() => undefined);
    lab.proxy.clear();
    flipUuid('create2');
    const asking = lab.proxy.seen(sent('create2'));
    // Its number is behind that of the lost znode.
    const similar = asking.then(async ({ path = '' }) => {
      const others = `${path.replace(/(?<=_c_.{14})./, '0')}0000000099`;
      await lab.other.session.request(createEphemeral(others, Buffer.alloc(0), [anyone(permission.all)]));
      return others;
    });
    once(lab.proxy, answered('create2'), { delayUntil: similar });
    await lab.mutex.withLock(() => undefined);
    await lab.sleep(sessionTimeoutMs);
    expect(await lab.observer.children(lab.path)).to.deep.equal([(await similar).slice(lab.path.length + 1)]);
  });

  it('leaves a znode that the servers do not let it delete: it tries again after pauses, and says so once', async () => {
    const kept = keepsWarnings();
    await using client = await lab.connect({ sessionTimeoutMs, logger: kept.logger }, lab.proxy.connectString);
    await (await lab.theirs.acquire()).release();
    await setAcl(lab.other, lab.path, permission.all - permission.delete);
    flipUuid('create2');
    const acquiring = mutexes(client, lab.path).acquire();
    await lab.sleep(5_000);
    const deletes = lab.proxy.frames.filter(sent('delete')).length;
    await setAcl(lab.other, lab.path, permission.all);
    await (await acquiring).release();
    expect(deletes).to.be.within(2, 20);
    expect(kept.warnings.filter((each) => each.includes('cannot be deleted; trying again'))).to.have.length(1);
  });

  it('makes a create arrive as a persistent one: the znode is deleted, and is not held', async () => {
    const mutex = new InterProcessMutex(lab.client, lab.path);
    await (await mutex.acquire()).release();
    once(lab.proxy, sent('create2'), (frame) => ({ replaceWith: withFlippedBit(frame, frame.body.length - 1, 0) }));
    await using hold = await mutex.acquire();
    expect(await lab.observer.children(lab.path)).to.deep.equal([hold.path.slice(lab.path.length + 1)]);
    expect(hold.path.slice(-1)).to.equal('2');
  });

  it('in the name of a downgrade: the znode that the servers made is deleted', async () => {
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, lab.path);
    flipUuid('multi');
    await writeLock.withLock(() => readLock.withLock(() => undefined));
    await lab.sleep(sessionTimeoutMs);
    expect(await lab.observer.children(lab.path)).to.deep.equal([]);
  });

  it('is looked for by one list, if the deletes of many waiters were not answered', async () => {
    await using _hold = await lab.theirs.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = Promise.allSettled(Array.from({ length: 50 }, () => lab.mutex.acquire({ signal })));
    await lab.queueReaches(51);
    lab.proxy.clear();
    once(lab.proxy, answered('delete'), (first) => {
      // The others arrive in two parts: most of them when the search for the first one has begun. The reconnect and the
      // search have a transaction each.
      const isLater = (frame: Frame): boolean => answered('delete')(frame) && frame.connection > first.connection;
      const search = lab.proxy.seen(sent('multi'), 2);
      once(lab.proxy, isLater, () => {
        once(lab.proxy, isLater, { delayUntil: search });
        return 'pass';
      });
      return 'cut';
    });
    controller.abort(new Error('enough'));
    await waiting;
    await lab.sleep(1_000);
    expect(await lab.observer.children(lab.path)).to.have.length(1);
    expect(lab.proxy.frames.filter(sent('getChildren2'))).to.have.length(1);
  });
});
