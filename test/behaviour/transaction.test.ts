import { expect } from 'chai';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  InvalidPathError,
  LockLostError,
  NotOwnedError,
  OutcomeUnknownError,
  RequestFailedError,
  type CreateMode,
  type Hold,
  type ZooKeeperError,
} from '../../src/index.ts';
import { exists } from '../../src/zookeeper/wire/operations.ts';
import { connectResponse } from '../../lab/servers/fake-server.ts';
import { answered, once } from '../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';

describe('hold.transaction()', () => {
  const lab = labOfEachTest('transaction', { server: 'own', proxy: true, client: { sessionTimeoutMs: 4_000 } });
  let hold: Hold;
  let base: string;

  beforeEach(async () => {
    base = testPath('data').replace(/(?<=.)\//g, '-');
    await lab.observer.create(base);
    hold = await lab.mutex.acquire();
  });

  const bytes = (text: string): Buffer => Buffer.from(text);

  const refusal = async (committed: Promise<unknown>): Promise<RequestFailedError> => {
    const error: unknown = await rejection(committed);
    if (error instanceof RequestFailedError) return error;
    throw error;
  };

  const codeOf = (error: Error): string => (error.cause as ZooKeeperError).code;

  it('returns the result of each operation, in order', async () => {
    const results: [string, { version: number; mzxid: bigint }, undefined, undefined, string] = await hold
      .transaction()
      .create(`${base}/a`, bytes('1'))
      .setData(`${base}/a`, bytes('2'), { version: 0 })
      .check(`${base}/a`, { version: 1 })
      .delete(`${base}/a`, { version: 1 })
      .create(`${base}/n-`, bytes('3'), { mode: 'persistent-sequential' })
      .commit();
    const [created, { version, mzxid }, checked, deleted, numbered] = results;
    expect([created, version, checked, deleted]).to.deep.equal([`${base}/a`, 1, undefined, undefined]);
    expect(mzxid > hold.fencingToken).to.equal(true);
    expect(numbered).to.match(/\/n-\d{10}$/);
    expect(await lab.observer.children(base)).to.deep.equal([numbered.slice(base.length + 1)]);
    expect(await lab.observer.read(numbered)).to.equal('3');
  });

  for (const mode of ['persistent', 'persistent-sequential', 'ephemeral', 'ephemeral-sequential'] as CreateMode[])
    it(`creates a znode of the mode ${mode}`, async () => {
      const [path] = await hold.transaction().create(`${base}/x`, bytes('x'), { mode }).commit();
      expect(path).to.match(mode.endsWith('sequential') ? /\/x\d{10}$/ : /\/x$/);
      const ephemerals = (await lab.observer.ephemerals(base)).map(({ owner }) => owner);
      expect(ephemerals).to.deep.equal(mode.startsWith('ephemeral') ? [lab.client.session.id] : []);
    });

  it('of a lease of a semaphore writes as its holder', async () => {
    await using lease = await new InterProcessSemaphore(lab.client, `${lab.path}-leases`, { maxLeases: 2 }).acquire();
    await lease.transaction().setData(base, bytes('by the lease'), { version: 0 }).commit();
    expect(await lab.observer.read(base)).to.equal('by the lease');
  });

  it('creates a container, and further operations come after it', async () => {
    const [, child] = await hold
      .transaction()
      .create(`${base}/c`, undefined, { mode: 'container' })
      .create(`${base}/c/`, bytes('child'), { mode: 'persistent-sequential' })
      .commit();
    expect(await lab.observer.read(child)).to.equal('child');
  });

  it('says what to do if the servers allow no znode with a time to live, and does nothing', async () => {
    const options = { mode: 'persistent-with-ttl', ttlMs: 1_000 } as const;
    const transaction = hold.transaction().create(`${base}/a`).create(`${base}/b`, undefined, options);
    const error = await refusal(transaction.commit());
    expect(error.operation).to.deep.equal({ index: 1, name: 'create', path: `${base}/b` });
    expect(codeOf(error)).to.equal('UNIMPLEMENTED');
    expect(error.message).to.contain('-Dzookeeper.extendedTypesEnabled=true');
    expect(await lab.observer.children(base)).to.deep.equal([]);
  });

  it('is one request: a multi that checks the znode of the hold first', async () => {
    lab.proxy.clear();
    await hold.transaction().create(`${base}/a`).create(`${base}/b`).commit();
    const requests = lab.proxy.frames.filter(
      (frame) => frame.from === 'client' && frame.body.includes(Buffer.from(base)),
    );
    expect(requests.map(({ op, path }) => [op, path])).to.deep.equal([['multi', hold.path]]);
  });

  it('does nothing if one operation is refused, and the error names it', async () => {
    await lab.observer.write(base, 'of another client');
    const transaction = hold.transaction().create(`${base}/a`).setData(base, bytes('late'), { version: 0 });
    const error = await refusal(transaction.commit());
    expect(error.operation).to.deep.equal({ index: 1, name: 'setData', path: base });
    expect(codeOf(error)).to.equal('BAD_VERSION');
    expect(error.message).to.contain(`operation 1, setData("${base}")`).and.to.contain('Read it again');
    expect(await lab.observer.read(base)).to.equal('of another client');
    expect(await lab.observer.children(base)).to.deep.equal([]);
    expect(hold.isValid).to.equal(true);
  });

  it('takes a missing znode of an operation for no loss of the hold', async () => {
    const error = await refusal(hold.transaction().setData(`${base}/none`, bytes('x')).commit());
    expect([codeOf(error), error.operation?.index]).to.deep.equal(['NO_NODE', 0]);
    expect(hold.isValid).to.equal(true);
  });

  for (const method of ['check', 'delete'] as const)
    it(`compares version 0 in ${method}`, async () => {
      await hold.transaction().create(`${base}/a`).commit();
      await hold.transaction().check(`${base}/a`, { version: 0 }).commit();
      await lab.observer.touch(`${base}/a`);
      const error = await refusal(hold.transaction()[method](`${base}/a`, { version: 0 }).commit());
      expect(error.operation).to.include({ index: 0, name: method });
      await hold.transaction()[method](`${base}/a`).commit();
    });

  it('rejects with LockLostError if the servers have no znode of the hold, and tells the holder', async () => {
    const loss = aborted(hold.signal);
    // The client does not read its events before the transaction is sent.
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'watch' ? 'drop' : undefined));
    await lab.observer.remove(hold.path);
    const error = await rejection(hold.transaction().create(`${base}/a`).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'node-deleted', path: hold.path });
    expect(await loss).to.equal(error);
    expect(await lab.observer.children(base)).to.deep.equal([]);
  });

  it('sends nothing after the hold is released or lost', async () => {
    await hold.release();
    lab.proxy.clear();
    expect(await rejection(hold.transaction().create(`${base}/a`).commit())).to.be.instanceOf(NotOwnedError);
    await using second = await lab.mutex.acquire();
    await lab.observer.remove(second.path);
    await aborted(second.signal);
    expect(await rejection(second.transaction().create(`${base}/a`).commit())).to.be.instanceOf(LockLostError);
    expect(lab.proxy.frames.filter(({ body }) => body.includes(Buffer.from(base)))).to.deep.equal([]);
  });

  it('sends nothing after the lease of the hold has ended', async () => {
    await hold.release();
    const leased = await lab.mutex.acquire({ leaseMs: 1 });
    await aborted(leased.signal);
    const error = await rejection(leased.transaction().create(`${base}/a`).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'lease-expired' });
  });

  it('whose answer is lost rejects with OutcomeUnknownError, and the same versions again show that it was done', async () => {
    const isOurs = (frame: Frame): boolean => frame.from === 'client' && frame.body.includes(bytes(base));
    const answer = lab.proxy.seen(isOurs).then(({ xid }) => xid);
    let xid: number | undefined;
    void answer.then((sent) => (xid = sent));
    once(lab.proxy, (frame) => frame.from === 'server' && frame.op === 'multi' && frame.xid === xid, 'cut');
    const write = (): Promise<unknown> => hold.transaction().setData(base, bytes('new'), { version: 0 }).commit();
    const error = await rejection(write());
    expect(error).to.be.instanceOf(OutcomeUnknownError).and.to.include({ code: 'ERR_LOCK_OUTCOME_UNKNOWN' });
    expect(error).to.deep.include({ path: hold.path, paths: [base] });
    expect(codeOf(await refusal(write()))).to.equal('BAD_VERSION');
    expect(await lab.observer.read(base)).to.equal('new');
  });

  /** The answer to a transaction of two parts whose first part was refused. The header has no error. */
  const refusedFirst = ({ body }: Frame, error: number): Buffer => {
    const bytes = Buffer.alloc(4 + 16 + 2 * 13 + 9);
    bytes.writeInt32BE(bytes.length - 4, 0);
    body.copy(bytes, 4, 0, 12);
    for (const [index, each] of [error, -2].entries()) {
      bytes.writeInt32BE(-1, 20 + index * 13);
      bytes.writeInt32BE(each, 25 + index * 13);
      bytes.writeInt32BE(each, 29 + index * 13);
    }
    bytes.writeInt32BE(-1, 46);
    bytes.writeInt8(1, 50);
    bytes.writeInt32BE(-1, 51);
    return bytes;
  };
  const refuseNext = (error: number): void => {
    const ours = lab.proxy.seen((frame) => frame.from === 'client' && frame.body.includes(bytes(base)));
    let xid: number | undefined;
    void ours.then((frame) => (xid = frame.xid));
    once(
      lab.proxy,
      (frame) => answered('multi')(frame) && frame.xid === xid,
      (frame) => ({ replaceWith: refusedFirst(frame, error) }),
    );
  };

  it('rejects with LockLostError if a leader refuses it because the session has ended', async () => {
    const { session } = lab.client;
    const expired = connectResponse({ timeoutMs: 0, sessionId: 0n });
    refuseNext(-112);
    once(lab.proxy, answered('connect'), { replaceWith: expired });
    const error = await rejection(hold.transaction().check(base).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'session-expired', path: hold.path });
    expect(session.isEnded).to.equal(true);
  });

  it('is no success if the servers have rolled back all of its parts, and name no cause', async () => {
    refuseNext(-2);
    const error = await refusal(hold.transaction().check(base).commit());
    expect(codeOf(error)).to.equal('SYSTEM_ERROR');
  });

  it('is sent again if a leader refuses it because the session has moved', async () => {
    const { session } = lab.client;
    const { epoch } = session;
    refuseNext(-118);
    expect(await hold.transaction().check(base).commit()).to.deep.equal([undefined]);
    // Such an answer proves nothing, so the connection is given up.
    expect(session.epoch).to.equal(epoch + 1);
    expect(hold.isValid).to.equal(true);
  });

  for (const isLost of [false, true])
    it(`that created an ephemeral znode, its answer ${isLost ? 'lost' : 'read'}, has it deleted by close() in an outage`, async () => {
      if (isLost) once(lab.proxy, answered('multi'), 'cut');
      const created = hold.transaction().create(`${base}/e`, undefined, { mode: 'ephemeral' }).commit();
      if (isLost) expect(await rejection(created)).to.be.instanceOf(OutcomeUnknownError);
      else await created;
      await hold.release();
      await lab.disconnect();
      const closing = lab.client.close({ timeoutMs: 10_000 });
      await lab.proxy.accept();
      await closing;
      expect(await lab.observer.children(base)).to.deep.equal([]);
    });

  it('counts no ephemeral znode whose create was refused before it was sent', async () => {
    const { znodes } = lab.client.session;
    const transaction = hold.transaction();
    const tooLong = new Uint8Array(512 * 1_024 + 1);
    expect(() => transaction.create(`${base}/e`, tooLong, { mode: 'ephemeral' })).to.throw(RangeError);
    await transaction.create(`${base}/a`).commit();
    expect(lab.client.session.znodes).to.equal(znodes);
  });

  it('waits for the next connection of the session, and is sent there', async () => {
    await lab.disconnect();
    const committed = hold.transaction().create(`${base}/a`).commit();
    await lab.proxy.accept();
    expect(await committed).to.deep.equal([`${base}/a`]);
    expect(hold.isValid).to.equal(true);
  });

  it('that was never sent when its connection ended is sent on the next one', async () => {
    lab.proxy.silence();
    const reads = Array.from({ length: 300 }, () => lab.client.session.request(exists(base)).catch(() => undefined));
    const committed = hold.transaction().create(`${base}/a`).commit();
    await lab.sleep(10);
    lab.proxy.cut();
    lab.proxy.speak();
    expect(await committed).to.deep.equal([`${base}/a`]);
    await Promise.all(reads);
  });

  it('settles at the deadline of the hold if there is no connection until then', async () => {
    await lab.disconnect();
    const error = await rejection(hold.transaction().create(`${base}/a`).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'session-deadline' });
    await lab.proxy.accept();
  });

  it('settles if the hold is released while there is no connection', async () => {
    await lab.disconnect();
    const committed = rejection(hold.transaction().create(`${base}/a`).commit());
    const released = hold.release();
    await lab.proxy.accept();
    expect(await committed).to.be.instanceOf(NotOwnedError);
    await released;
    expect(await lab.observer.children(base)).to.deep.equal([]);
  });

  it('settles after its lease has ended while there is no connection', async () => {
    await hold.release();
    const leased = await lab.mutex.acquire({ leaseMs: 1_500 });
    await lab.disconnect();
    const error = await rejection(leased.transaction().create(`${base}/a`).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'lease-expired' });
    // The end of the session would wake it, too.
    expect(lab.client.state).to.equal('suspended');
    await lab.proxy.accept();
  });

  it('is not sent by a connection that attaches anew after the hold was released', async () => {
    const attached = lab.client.session.attach();
    const committed = rejection(hold.transaction().create(`${base}/a`).commit());
    const released = hold.release();
    expect(await committed).to.be.instanceOf(NotOwnedError);
    await Promise.all([attached, released]);
    expect(await lab.observer.children(base)).to.deep.equal([]);
  });

  it('whose lease ends in the step that sends it leaves the connection in order', async () => {
    await hold.release();
    const leased = await lab.mutex.acquire({ leaseMs: 100 });
    const { session } = lab.client;
    const { epoch } = session;
    const error = rejection(leased.transaction().create(`${base}/a`).commit());
    // A blocked event loop: no timer runs between the call and the request.
    lab.stall(150);
    expect(await error)
      .to.be.instanceOf(LockLostError)
      .and.to.include({ reason: 'lease-expired' });
    await using next = await lab.mutex.acquire();
    expect(await next.transaction().create(`${base}/b`).commit()).to.deep.equal([`${base}/b`]);
    expect(session.epoch).to.equal(epoch);
    expect(await lab.observer.children(base)).to.deep.equal(['b']);
  });

  it('is sent once', async () => {
    const transaction = hold.transaction().create(`${base}/a`);
    await transaction.commit();
    expect(await rejection(transaction.commit())).to.be.instanceOf(TypeError);
    expect(() => transaction.check(base)).to.throw(TypeError, 'hold.transaction()');
  });

  it('without operations only checks that the hold is there', async () => {
    expect(await hold.transaction().commit()).to.deep.equal([]);
  });

  it('refuses bad arguments before it sends anything', async () => {
    const transaction = hold.transaction();
    expect(() => transaction.create('a')).to.throw(InvalidPathError);
    expect(() => transaction.create('/a/')).to.throw(InvalidPathError);
    expect(() => transaction.create(`${lab.path}/x`)).to.throw(InvalidPathError, 'participants');
    expect(() => transaction.delete(hold.path)).to.throw(InvalidPathError, 'hold.release()');
    expect(() => transaction.setData(hold.path, bytes('x'))).to.throw(InvalidPathError, 'hold.release()');
    expect(() => transaction.setData(`${lab.path}/other`, bytes('x'))).to.throw(InvalidPathError, 'participants');
    expect(() => transaction.setData(base, 'x' as never)).to.throw(TypeError, 'data');
    expect(() => transaction.create(base, bytes('x'), { mode: 'ttl' as never })).to.throw(TypeError, 'mode');
    expect(() => transaction.create(base, bytes('x'), { acl: [] })).to.throw(TypeError, 'acl');
    expect(() => transaction.create(base, bytes('x'), { ttlMs: 1_000 })).to.throw(TypeError, "'persistent'");
    const withTtl = (ttlMs: unknown) => () =>
      transaction.create(base, bytes('x'), { mode: 'persistent-with-ttl', ttlMs: ttlMs as never });
    for (const ttlMs of [undefined, null, '1', 1n]) expect(withTtl(ttlMs)).to.throw(TypeError, 'ttlMs');
    for (const ttlMs of [0, -1, 1.5, NaN, Infinity, 2 ** 40])
      expect(withTtl(ttlMs)).to.throw(RangeError, 'a whole number from 1 to 1099511627775');
    expect(() => transaction.check(base, { version: -1 })).to.throw(RangeError, 'version');
    expect(() => transaction.check(base, { versoin: 1 } as never)).to.throw(TypeError, 'versoin');
    expect(() => transaction.create(base, Buffer.alloc(600_000))).to.throw(RangeError, '524288');
    transaction.create(`${base}/a`, Buffer.alloc(500_000)).create(`${base}/b`, Buffer.alloc(500_000));
    expect(await rejection(transaction.commit()))
      .to.be.instanceOf(RangeError)
      .and.to.have.property('message')
      .that.contains('1000000');
    const [many, most] = [hold.transaction(), hold.transaction()];
    for (let index = 0; index < 1_001; index += 1) many.check(base);
    for (let index = 0; index < 1_000; index += 1) most.check(base);
    expect(await rejection(many.commit())).to.be.instanceOf(RangeError);
    await most.commit();
    expect(await lab.observer.children(base)).to.deep.equal([]);
  });

  it('stores the given access rights, and else those of the client', async () => {
    const acl = [{ permissions: 1, scheme: 'world', id: 'anyone' }];
    await hold.transaction().create(`${base}/a`, bytes('x'), { acl }).create(`${base}/b`).commit();
    expect(codeOf(await refusal(hold.transaction().setData(`${base}/a`, bytes('y')).commit()))).to.equal('NO_AUTH');
    await hold.transaction().setData(`${base}/b`, bytes('y')).commit();
  });

  it('of a client with a chroot has the paths below it', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 4_000 }, `${lab.proxy.connectString}${base}`);
    await using below = await new InterProcessMutex(client, '/lock').acquire();
    expect(await below.transaction().create('/a', bytes('x')).commit()).to.deep.equal(['/a']);
    expect(await lab.observer.read(`${base}/a`)).to.equal('x');
    const [numbered] = await below
      .transaction()
      .create('/', bytes('numbered'), { mode: 'persistent-sequential' })
      .commit();
    expect(numbered).to.match(/^\/\d{10}$/);
    expect(await lab.observer.read(`${base}${numbered}`)).to.equal('numbered');
  });

  it('proves the session, as every quorum write does', async () => {
    // So long that no heartbeat is answered meanwhile.
    const client = await lab.connect({ sessionTimeoutMs: 30_000 });
    await using own = await new InterProcessMutex(client, testPath('proves')).acquire();
    const { session } = client;
    const before = session.writesAnswered;
    await own.transaction().check(base).commit();
    expect(session.writesAnswered).to.equal(before + 1);
  });

  it('of a multi-lock checks the znodes of all its holds', async () => {
    const paths = [testPath('one'), testPath('two')];
    const lock = new InterProcessMultiLock(paths.map((path) => new InterProcessMutex(lab.client, path)));
    await using both = await lock.acquire();
    expect(await both.transaction().create(`${base}/a`).commit()).to.deep.equal([`${base}/a`]);
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'watch' ? 'drop' : undefined));
    const [, second] = both.holds;
    await lab.observer.remove(second?.path ?? '');
    const error = await rejection(both.transaction().create(`${base}/b`).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ path: second?.path });
    expect(await lab.observer.children(base)).to.deep.equal(['a']);
  });

  it('of a multi-lock is not sent after one of its holds was released, though the znode of that one stays', async () => {
    const sticky = new InterProcessMutex(lab.client, testPath('sticky'), { sticky: { idleMs: 60_000 } });
    const lock = new InterProcessMultiLock([new InterProcessMutex(lab.client, testPath('plain')), sticky]);
    await using both = await lock.acquire();
    await both.holds[1]?.release();
    expect(await rejection(both.transaction().create(`${base}/a`).commit())).to.be.instanceOf(NotOwnedError);
    expect(await lab.observer.children(base)).to.deep.equal([]);
  });

  it('of a multi-lock settles after the lease of one of its holds has ended while there is no connection', async () => {
    const paths = [testPath('one'), testPath('two')];
    const lock = new InterProcessMultiLock(paths.map((path) => new InterProcessMutex(lab.client, path)));
    await using both = await lock.acquire();
    both.holds[1]?.renew(1_500);
    await lab.disconnect();
    const error = await rejection(both.transaction().create(`${base}/a`).commit());
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'lease-expired' });
    // The end of the session would wake it, too.
    expect(lab.client.state).to.equal('suspended');
    await lab.proxy.accept();
  });

  it('of a multi-lock needs one client', async () => {
    const [mine, other] = [testPath('one'), testPath('two')];
    const lock = new InterProcessMultiLock([
      new InterProcessMutex(lab.client, mine),
      new InterProcessMutex(lab.other, other),
    ]);
    await using both = await lock.acquire();
    expect(() => both.transaction()).to.throw(TypeError, 'one client');
  });

  it('of a reader, a writer, a lease, a weighted lock and a sticky lock checks the znode of that hold', async () => {
    const rw = new InterProcessReadWriteLock(lab.client, testPath('rw'));
    const holds = [
      await rw.readLock.acquire(),
      await new InterProcessReadWriteLock(lab.client, testPath('rw2')).writeLock.acquire(),
      await new InterProcessSemaphore(lab.client, testPath('s'), { maxLeases: 2 }).acquire(),
      await new InterProcessMutex(lab.client, testPath('w'), { weights: {} }).acquire({ weight: 3 }),
      await new InterProcessMutex(lab.client, testPath('k'), { sticky: { idleMs: 60_000 } }).acquire(),
    ];
    lab.proxy.on((frame) => (frame.from === 'server' && frame.op === 'watch' ? 'drop' : undefined));
    for (const [index, one] of holds.entries()) {
      await one.transaction().create(`${base}/${index}`).commit();
      await lab.observer.remove(one.path);
      expect(await rejection(one.transaction().create(`${base}/late`).commit())).to.be.instanceOf(LockLostError);
      await one.release();
    }
    expect(await lab.observer.children(base)).to.have.members(['0', '1', '2', '3', '4']);
  });

  it('does not overwrite the data by which a lock with weights knows its holder', async () => {
    const path = testPath('weighted');
    const weighted = new InterProcessMutex(lab.client, path, { weights: {} });
    await using one = await weighted.acquire();
    expect(() => one.transaction().setData(path, bytes('x'))).to.throw(InvalidPathError, 'the option `weights`');
    const multi = new InterProcessMultiLock([new InterProcessMutex(lab.client, testPath('plain')), weighted]);
    await one.release();
    await using both = await multi.acquire();
    expect(() => both.transaction().setData(path, bytes('x'))).to.throw(InvalidPathError, 'the option `weights`');
    // The own znode of another lock has no data of the library.
    await hold.transaction().setData(lab.path, bytes('x')).commit();
  });

  it('creates and writes nothing among the participants of a semaphore', async () => {
    const path = testPath('semaphore');
    await using lease = await new InterProcessSemaphore(lab.client, path, { maxLeases: 2 }).acquire();
    for (const wrong of [`${path}/x`, `${path}/locks/x`, `${path}/leases/x`]) {
      expect(() => lease.transaction().create(wrong), wrong).to.throw(InvalidPathError, 'participants');
      expect(() => lease.transaction().setData(wrong, bytes('x')), wrong).to.throw(InvalidPathError, 'participants');
    }
    const [plain, other] = [testPath('plain'), testPath('semaphore-mutex')];
    await using both = await new InterProcessMultiLock([
      new InterProcessMutex(lab.client, plain),
      new InterProcessSemaphoreMutex(lab.client, other),
    ]).acquire();
    for (const wrong of [`${plain}/x`, `${other}/locks/x`])
      expect(() => both.transaction().create(wrong), wrong).to.throw(InvalidPathError, 'participants');
  });

  it('of an earlier grant of a sticky lock is refused, though the znode is the same', async () => {
    const sticky = new InterProcessMutex(lab.client, testPath('sticky'), { sticky: { idleMs: 60_000 } });
    const first = await sticky.acquire();
    const late = first.transaction().create(`${base}/late`);
    await first.release();
    await using second = await sticky.acquire();
    expect(second.path).to.equal(first.path);
    expect(await rejection(late.commit())).to.be.instanceOf(NotOwnedError);
    expect(await second.transaction().create(`${base}/new`).commit()).to.deep.equal([`${base}/new`]);
  });
});

describe('hold.transaction() on a server that allows znodes with a time to live', () => {
  const lab = labOfEachTest('ttl', {
    server: { javaOptions: ['-Dzookeeper.extendedTypesEnabled=true'], containerCheckMs: 100 },
  });
  const ttlMs = 1_000;

  it('creates them, and the server deletes them afterwards', async () => {
    await using hold = await lab.mutex.acquire();
    const base = testPath('data').replace(/(?<=.)\//g, '-');
    const [, path, numbered, kept, , { version }] = await hold
      .transaction()
      .create(base)
      .create(`${base}/x`, Buffer.from('x'), { mode: 'persistent-with-ttl', ttlMs })
      .create(`${base}/`, undefined, { mode: 'persistent-sequential-with-ttl', ttlMs })
      .create(`${base}/kept`, undefined, { mode: 'persistent-with-ttl', ttlMs: 2 ** 40 - 1 })
      .check(`${base}/x`, { version: 0 })
      .setData(base, Buffer.from('behind them'))
      .commit();
    expect([path, kept, version]).to.deep.equal([`${base}/x`, `${base}/kept`, 1]);
    expect(numbered).to.match(/\/\d{10}$/);
    await until('only one is left', async () => (await lab.observer.children(base)).join() === 'kept');
  });
});
