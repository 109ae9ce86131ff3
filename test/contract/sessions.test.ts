import { expect } from 'chai';
import { until } from '../../lab/until.ts';
import { dial } from '../../lab/wire/wire-client.ts';
import { createEphemeral, exists, openAcl, setData } from '../../src/zookeeper/wire/operations.ts';
import { PlainSession } from './embedded/support/plain-session.ts';
import { probeOfEachTest } from './probe.ts';

const none = new Uint8Array(0);
const tickTimeMs = 500;

describe('a session on a real server', () => {
  const lab = probeOfEachTest({ tickTimeMs });
  const { ask, codeOf } = lab;

  for (const [asked, granted] of [
    [1, 2 * tickTimeMs],
    [3_210, 3_210],
    [3_600_000, 60_000],
  ] as const)
    it(`that asks for ${asked} ms gets ${granted} ms, within the bounds of the server`, async () => {
      const probe = await lab.connect({ sessionTimeoutMs: asked });
      expect(probe.connection.timeoutMs).to.equal(granted);
    });

  it('ends when its client is silent for its timeout, not before', async () => {
    const path = `${lab.path}/ephemeral`;
    const session = await PlainSession.open(lab.server.port, 2_000);
    const askedAt = performance.now();
    await session.create(path, 1);
    await until('its znode is gone', async () => (await codeOf(exists(path))) === 'NO_NODE');
    expect(performance.now() - askedAt).to.be.at.least(2_000);
    await session.closed;
  });

  it('goes on while its client pings', async () => {
    const path = `${lab.path}/ephemeral`;
    const probe = await lab.connect({ sessionTimeoutMs: 5_000 });
    await ask(createEphemeral(path, none, openAcl), probe);
    const endsAt = performance.now() + 7_000;
    while (performance.now() < endsAt) {
      const pinged = probe.next('pinged');
      probe.connection.ping();
      await pinged;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect(await codeOf(exists(path))).to.equal('done');
  });

  it('is resumed on another connection, with its znodes, and the server closes the first one', async () => {
    const path = `${lab.path}/ephemeral`;
    const first = await PlainSession.open(lab.server.port, 20_000);
    await first.create(path, 1);
    const second = await lab.connect({
      resume: { id: idOf(first), password: first.ticket.password, lastZxid: 0n },
    });
    await first.closed;
    expect(second.connection.sessionId).to.equal(first.ticket.sessionId);
    expect((await ask(exists(path), second)).ephemeralOwner).to.equal(first.ticket.sessionId);
  });

  it('cannot be resumed with another password, nor when it has ended', async () => {
    const session = await PlainSession.open(lab.server.port, 20_000);
    const { sessionId } = session.ticket;
    const thief = await PlainSession.open(lab.server.port, 20_000, { sessionId, password: Buffer.alloc(16, 1) });
    expect(thief.isRefused).to.equal(true);
    const owner = await PlainSession.open(lab.server.port, 20_000, session.ticket);
    expect(owner.ticket.sessionId).to.equal(sessionId);
    await owner.request({ op: 'closeSession' });
    expect((await PlainSession.open(lab.server.port, 20_000, session.ticket)).isRefused).to.equal(true);
  });

  it('is not given to a client that has seen a newer zxid: the server closes the connection without an answer', async () => {
    const { zxid } = await lab.probe.send(setData(lab.path, none));
    const knowing = await dial(lab.server.port, 20_000, undefined, Number(zxid)).opened();
    expect(knowing.isOpen).to.equal(true);
    const { zxid: newest } = await lab.probe.send(setData(lab.path, none));
    const ahead = await dial(lab.server.port, 20_000, undefined, Number(newest) + 1_000).opened();
    expect([ahead.response, ahead.isClosed]).to.deep.equal([undefined, true]);
  });

  it('outlives a restart of the server, whose zxids go on', async function () {
    this.timeout(60_000);
    const path = `${lab.path}/ephemeral`;
    const { zxid } = await lab.probe.send(createEphemeral(path, none, openAcl));
    const { sessionId } = lab.probe.connection;
    await lab.server.kill();
    await lab.server.start();
    await until('the probe is connected again', () => lab.probe.connection.isConnected, 30_000);
    expect(lab.probe.connection.sessionId).to.equal(sessionId);
    const { value: stat, zxid: next } = await lab.probe.send(setData(path, none));
    expect(stat).to.include({ czxid: zxid, mzxid: next, ephemeralOwner: sessionId });
    expect(next > zxid).to.equal(true);
  });
});

function idOf({ ticket }: PlainSession): Buffer {
  const id = Buffer.alloc(8);
  id.writeBigInt64BE(ticket.sessionId);
  return id;
}
