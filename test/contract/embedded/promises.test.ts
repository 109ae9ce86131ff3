import { expect } from 'chai';
import { fourLetterWord } from '../../../lab/servers/four-letter-word.ts';
import { embeddedOfEachTest } from './support/embedded.ts';
import { PlainSession } from './support/plain-session.ts';
import type { Item } from '../../../lab/wire/request.ts';

/** Tests of applications rely on these promises. compare.test.ts finds any difference, but does not name the promise. */
describe('an embedded ZooKeeper promises that', () => {
  const lab = embeddedOfEachTest();
  let session: PlainSession;
  let other: PlainSession;
  beforeEach(async () => {
    [session, other] = await Promise.all([
      PlainSession.open(lab.zk.port, 4_000),
      PlainSession.open(lab.zk.port, 4_000),
    ]);
  });

  it('a client gets the event of a change before any answer that shows the change', async () => {
    await session.create('/a', 0);
    await session.request({ op: 'getData', path: '/a', watch: true });
    await session.request({ op: 'setData', path: '/a', data: 'x' });
    expect(session.transcript.slice(-2)).to.deep.equal(['event 3 3 /a', '#3 0']);
  });

  it('a watch fires once', async () => {
    await session.create('/a', 0);
    await session.request({ op: 'getData', path: '/a', watch: true });
    for (const data of ['x', 'y']) await other.request({ op: 'setData', path: '/a', data });
    await session.request({ op: 'ping' });
    expect(session.transcript.filter((line) => line.startsWith('event'))).to.deep.equal(['event 3 3 /a']);
  });

  it('a watch ends with its connection', async () => {
    await session.request({ op: 'getData', path: '/', watch: true });
    const resumed = await PlainSession.open(lab.zk.port, 4_000, session.ticket);
    expect(await fourLetterWord('127.0.0.1', lab.zk.port, 'wchs')).to.include('Total watches:0');
    await other.create('/a', 0);
    await resumed.request({ op: 'ping' });
    expect(resumed.transcript).to.deep.equal(['#-2 0']);
  });

  it('a client without the permission to read a znode gets no event of it', async () => {
    const acl = [{ permissions: 30, scheme: 'world', id: 'anyone' }];
    await other.request({ op: 'exists', path: '/hidden', watch: true });
    await session.request({ op: 'create', path: '/hidden', acl });
    await other.request({ op: 'ping' });
    expect(other.transcript).to.deep.equal(['#1 -101', '#-2 0']);
  });

  it('a sequence number is never given twice, even if the znode is deleted', async () => {
    const names: (string | null)[] = [];
    for (let round = 0; round < 3; round += 1) {
      const reader = (await session.create('/lock-', 3)).record();
      const name = reader.text();
      names.push(name);
      await session.request({ op: 'delete', path: name });
    }
    expect(names).to.deep.equal(['/lock-0000000000', '/lock-0000000001', '/lock-0000000002']);
  });

  it('a change that expects another version is refused', async () => {
    await session.create('/a', 0);
    const errors = [
      await session.request({ op: 'setData', path: '/a', data: 'x', version: 1 }),
      await session.request({ op: 'check', path: '/a', version: 1 }).catch(() => ({ error: 'none' })),
      await session.request({ op: 'delete', path: '/a', version: 1 }),
    ].map(({ error }) => error);
    expect(errors).to.deep.equal([-103, -103, -103]);
  });

  it('a multi changes everything or nothing', async () => {
    const create = (path: string): Item => ({ op: 'create', path });
    await session.request({ op: 'multi', items: [create('/a'), create('/nowhere/b'), create('/c')] });
    expect(await session.childrenOfRoot()).to.deep.equal(['zookeeper']);
    await session.request({ op: 'multi', items: [create('/a'), create('/a/b')] });
    expect([...(await session.childrenOfRoot())].sort()).to.deep.equal(['a', 'zookeeper']);
  });

  it('a client without a permission is refused, and one that has proved its identity is not', async () => {
    const credentials = 'ann:secret';
    await session.request({ op: 'auth', scheme: 'digest', credentials });
    const acl = [{ permissions: 31, scheme: 'auth', id: '' }];
    await session.request({ op: 'create', path: '/mine', acl });
    const asked = [
      await other.request({ op: 'getData', path: '/mine' }),
      await other.request({ op: 'setData', path: '/mine', data: 'x' }),
      await other.create('/mine/child', 0),
      await session.create('/mine/child', 0),
    ];
    expect(asked.map(({ error }) => error)).to.deep.equal([-102, -102, -102, 0]);
  });

  it('every transaction has a higher zxid than all before it, also a refused one', async () => {
    const zxids: number[] = [];
    for (const path of ['/a', '/a', '/nowhere/b', '/b']) zxids.push((await session.create(path, 0)).zxid);
    const reader = (await session.create('/c', 0)).record();
    reader.text();
    expect([...zxids, Number(reader.long())]).to.deep.equal([3, 4, 5, 6, 7]);
  });

  it('an ephemeral znode has no children', async () => {
    await session.create('/ephemeral', 1);
    expect((await session.create('/ephemeral/child', 0)).error).to.equal(-108);
  });

  it('a client that has seen a newer zxid gets no session here', async () => {
    const ahead = new PlainSession(lab.zk.port);
    expect((await ahead.connect(4_000, undefined, 1_000).opened()).isClosed).to.equal(true);
  });
});
