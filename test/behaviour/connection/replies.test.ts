import { expect } from 'chai';
import { createPersistent, exists, openAcl, type Operation } from '../../../src/zookeeper/wire/operations.ts';
import { Writer } from '../../../src/zookeeper/wire/wire.ts';
import { ZooKeeperError } from '../../../src/zookeeper/wire/zookeeper-error.ts';
import { from, once } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { proxiedTripMs } from '../../../lab/world.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';

describe('a reply', () => {
  const lab = labOfEachTest('replies', { server: 'own', proxy: true, client: 'none' });
  let probe: ConnectionProbe;

  beforeEach(async () => (probe = await ConnectionProbe.connect([lab.proxy.port])));
  afterEach(() => probe[Symbol.dispose]());

  const connectRequests = (): Frame[] => lab.proxy.frames.filter(from('client', 'connect'));

  for (const op of ['exists', 'connect'] as const)
    it(`cut in the middle (${op}) leaves nothing for the next connection`, async () => {
      const session = probe.connection.sessionId;
      once(lab.proxy, from('server', op), 'cut-inside');
      const again = probe.next('connected');
      if (op === 'connect') lab.proxy.cut();
      else expect(await rejection(probe.send(exists('/')))).to.have.property('code', 'CONNECTION_LOSS');
      await again;
      expect(probe.connection.sessionId).to.equal(session);
      await probe.send(exists('/'));
      expect(connectRequests()).to.have.length(op === 'connect' ? 3 : 2);
      expect(probe.warnings).to.deep.equal([]);
    });

  for (const number of [-125, -118, -999])
    it(`with the error ${number} rejects with it, and the connection stays open`, async () => {
      once(lab.proxy, from('server', 'exists'), { replaceError: number });
      const error = await rejection(probe.send(exists('/')));
      expect(error).to.be.instanceOf(ZooKeeperError);
      expect(error).to.have.property('number', number);
      await probe.send(exists('/'));
      expect(connectRequests()).to.have.length(1);
      expect(probe.warnings).to.deep.equal([]);
    });

  for (const number of [-127, -122])
    it(`with the error ${number} is asked for again after longer and longer pauses, until it comes`, async () => {
      let refusals = 3;
      lab.proxy.on((frame) =>
        from('server', 'exists')(frame) && refusals-- > 0 ? { replaceError: number } : undefined,
      );
      const startedAt = lab.now();
      expect((await probe.send(exists('/'))).value).to.have.property('czxid', 0n);
      // The pauses are random: half of 50, 100 and 200 ms at least, as the probe draws them. There are four round trips,
      // and a timer counts whole milliseconds.
      expect(lab.now() - startedAt).to.be.within(175, 176 + 4 * proxiedTripMs);
      expect(lab.proxy.frames.filter(from('client', 'exists'))).to.have.length(4);
      expect(connectRequests()).to.have.length(1);
      expect(probe.warnings).to.deep.equal([]);
    });

  it('with the error -127 is not asked for again if the request must not be written any more', async () => {
    once(lab.proxy, from('server', 'exists'), { replaceError: -127 });
    const tooLate = new Error('the hold has ended');
    let writes = 0;
    const beforeWrite = (): void => {
      if ((writes += 1) > 1) throw tooLate;
    };
    expect(await rejection(probe.send({ ...exists('/'), beforeWrite }))).to.equal(tooLate);
    expect(lab.proxy.frames.filter(from('client', 'exists'))).to.have.length(1);
    await probe.send(exists('/'));
  });

  it('with the error -127 shows an overloaded server until no request is put off any more', async () => {
    lab.proxy.on((frame) => (from('server', 'exists')(frame) ? { replaceError: -127 } : undefined));
    const given: Promise<Error>[] = [];
    for (const mostWrites of [1, 2]) {
      let writes = 0;
      const beforeWrite = (): void => {
        if ((writes += 1) > mostWrites) throw new Error('given up');
      };
      given.push(rejection(probe.send({ ...exists('/'), beforeWrite })));
    }
    await given[0];
    expect(probe.connection.postponement?.since).to.be.a('number');
    await given[1];
    expect(probe.connection.postponement).to.equal(undefined);
  });

  it('with the error -127 is not asked for again once its connection has ended', async () => {
    lab.proxy.on((frame) => (from('server', 'exists')(frame) ? { replaceError: -127 } : undefined));
    const asked = rejection(probe.send(exists('/')));
    await lab.proxy.seen(from('server', 'exists'));
    const again = probe.next('connected');
    lab.proxy.cut();
    expect(await asked).to.have.property('code', 'CONNECTION_LOSS');
    await again;
    await lab.sleep(10_000);
    expect(lab.proxy.frames.filter(from('client', 'exists'))).to.have.length(1);
  });

  it('that cannot be parsed fails its request and all later requests, and the connection is dropped', async () => {
    const unreadable: Operation<unknown> = {
      ...exists('/'),
      read: (body) => Array.from({ length: 100 }, () => body.long()),
    };
    const again = probe.next('connected');
    const [first, second] = await Promise.all([rejection(probe.send(unreadable)), rejection(probe.send(exists('/')))]);
    expect(first).to.have.property('code', 'CONNECTION_LOSS');
    expect(first.cause).to.be.instanceOf(RangeError);
    expect(second.cause).to.equal(first.cause);
    expect(probe.warnings).to.deep.equal([first.cause]);
    await again;
    await probe.send(exists('/'));
  });

  it('to another request than the next one due is not accepted', async () => {
    once(lab.proxy, from('server', 'exists'), 'drop');
    const again = probe.next('connected');
    const lost = await Promise.all([rejection(probe.send(exists('/missing'))), rejection(probe.send(exists('/')))]);
    expect(lost.map(({ code }) => code)).to.deep.equal(['CONNECTION_LOSS', 'CONNECTION_LOSS']);
    await again;
    await probe.send(exists('/'));
  });

  it('is not read if it came together with the reply on which the caller gave up', async () => {
    lab.proxy.silence();
    const asked = [probe.send(exists('/')), rejection(probe.send(exists('/')))];
    await lab.proxy.seen(from('client', 'exists'), 2);
    const replies = [1, 2].map((xid) => replyHeader(xid));
    probe.on('answered', () => probe.connection.abandon());
    probe.receive(Buffer.concat(replies));
    await asked[0]?.catch(() => undefined);
    expect(await asked[1]).to.have.property('code', 'CONNECTION_LOSS');
    expect(probe.warnings).to.deep.equal([]);
  });

  it('follows request number 2³¹ - 2, and the next request, which has number 1', async () => {
    using late = await ConnectionProbe.connect([lab.proxy.port], { firstXid: 2 ** 31 - 3 });
    await Promise.all([1, 2, 3, 4].map(() => late.send(exists('/'))));
    const xids = lab.proxy.frames.filter(from('server', 'exists')).map(({ xid }) => xid);
    expect(xids).to.deep.equal([2 ** 31 - 3, 2 ** 31 - 2, 1, 2]);
    expect(connectRequests(), 'one of each probe').to.have.length(2);
  });

  it('with a zxid of -1 does not lower the zxid that the next server gets', async () => {
    const unknown: Operation<void> = {
      name: 'unknown',
      opcode: 99,
      kind: 'read',
      path: '/',
      write: () => undefined,
      read: () => undefined,
    };
    await probe.send(createPersistent(testPath('').slice(0, -1), openAcl));
    const seen = probe.connection.lastZxid;
    expect(seen > 0n).to.equal(true);
    const again = probe.next('connected');
    expect(await rejection(probe.send(unknown))).to.have.property('code', 'UNIMPLEMENTED');
    expect(lab.proxy.frames.find(({ err }) => err === -6)?.body.readBigInt64BE(4)).to.equal(-1n);
    await again;
    probe.connection.abandon();
    using _twin = await ConnectionProbe.connect([lab.proxy.port], { resume: probe.connection.identity });
    expect(connectRequests().map(({ body }) => body.readBigInt64BE(4))).to.deep.equal([0n, seen, seen]);
  });
});

/** A complete reply with an error, with its length in front. */
function replyHeader(xid: number): Buffer {
  return new Writer().int(xid).long(0n).int(-101).frame();
}
