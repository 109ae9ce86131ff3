import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../../packages/testing/src/index.ts';
import { errorNumbers } from '../../../packages/testing/src/wire/refusal.ts';
import { embeddedOfEachTest } from './support/embedded.ts';
import { connectRequest, encode } from '../../../lab/wire/request.ts';
import { PlainSession } from './support/plain-session.ts';

const connecting = connectRequest(10_000);

describe('an embedded ZooKeeper with arbitrary input', () => {
  const lab = embeddedOfEachTest();

  it('still serves other clients after any bytes', async () => {
    const other = await PlainSession.open(lab.zk.port, 40_000);
    await fc.assert(
      fc.asyncProperty(
        fc.boolean(),
        fc.array(fc.oneof(fc.uint8Array({ maxLength: 40 }), frame()), { maxLength: 8 }),
        async (hasSession, chunks) => {
          await send(lab.zk.port, [...(hasSession ? [connecting] : []), ...chunks]);
          expect((await other.request({ op: 'exists', path: '/' })).error).to.equal(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('accepts a request in pieces of one byte', async () => {
    const socket = connect({ port: lab.zk.port, host: '127.0.0.1', noDelay: true });
    for (const byte of connecting) await new Promise((resolve) => socket.write(Buffer.from([byte]), resolve));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(answer.length).to.equal(4 + 37);
  });

  it('keeps and returns data of almost a megabyte', async () => {
    const session = await PlainSession.open(lab.zk.port, 4_000);
    const data = 'x'.repeat(1_000_000);
    await session.request({ op: 'setData', path: '/', data });
    const reader = (await session.request({ op: 'getData', path: '/' })).record();
    expect(reader.bytes()?.toString() === data).to.equal(true);
  });

  it('refuses the rest of a multiRead whose answer grows beyond every bound', async () => {
    const session = await PlainSession.open(lab.zk.port, 4_000);
    await session.request({ op: 'setData', path: '/', data: 'x'.repeat(1_000_000) });
    const items = Array.from({ length: 1_000 }, () => ({ op: 'getData', path: '/' }) as const);
    expect((await session.request({ op: 'multiRead', items: items.slice(0, 4) })).error).to.equal(0);
    expect((await session.request({ op: 'multiRead', items })).error).to.equal(errorNumbers.MARSHALLING_ERROR);
  });

  it('cuts the connection if a clock or a random source throws during its request, and warns', async () => {
    const random = (): number => {
      throw new Error('no random number');
    };
    await using zk = await lab.start({ random });
    const warning = once(process, 'warning');
    expect((await PlainSession.open(zk.port, 4_000)).isClosed).to.equal(true);
    expect(await warning).to.have.nested.property('[0].message', 'no random number');
  });

  it('closes the connection of a request that is longer than jute.maxbuffer, and accepts one of exactly that length', async () => {
    await using zk = await lab.start({ juteMaxBufferBytes: 1_000 });
    const session = await PlainSession.open(zk.port, 4_000);
    // A setData is 28 bytes longer than its data: a path of two letters, an int for each length, the version and the
    // header.
    const overhead = 4 + 4 + 4 + 1 + 4 + 4;
    expect((await session.request({ op: 'setData', path: '/', data: 'x'.repeat(1_000 - overhead) })).error).to.equal(0);
    await session.request({ op: 'setData', path: '/', data: 'x'.repeat(1_001 - overhead) }).catch(() => undefined);
    expect(session.isClosed).to.equal(true);
  });
});

describe('EmbeddedZooKeeper.start', () => {
  it('starts in less than 50 ms', async () => {
    let shortestMs = Infinity;
    // Another program of the machine may hold a start up, but not make it faster.
    for (let run = 0; run < 50 && shortestMs >= 50; run += 1) {
      const startedAt = performance.now();
      await using zk = await EmbeddedZooKeeper.start();
      shortestMs = Math.min(shortestMs, performance.now() - startedAt);
      expect(zk.connectString).to.equal(`127.0.0.1:${zk.port}`);
    }
    expect(shortestMs).to.be.below(50);
  });

  it('rejects if the port is taken', async () => {
    await using zk = await EmbeddedZooKeeper.start();
    const error = await EmbeddedZooKeeper.start({ port: zk.port }).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).to.have.property('code', 'EADDRINUSE');
  });

  it('frees the port at stop, which is idempotent, and ends all connections', async () => {
    const zk = await EmbeddedZooKeeper.start();
    const session = await PlainSession.open(zk.port, 4_000);
    await Promise.all([zk.stop(), zk.stop()]);
    await zk.stop();
    await session.closed;
    await using again = await EmbeddedZooKeeper.start({ port: zk.port });
    expect(await (await PlainSession.open(again.port, 4_000)).childrenOfRoot()).to.deep.equal(['zookeeper']);
  });

  it('stops even if a client does not read its answers', async () => {
    const zk = await EmbeddedZooKeeper.start();
    const session = await PlainSession.open(zk.port, 4_000);
    await session.request({ op: 'setData', path: '/', data: 'x'.repeat(1_000_000) });
    const lazy = connect({ port: zk.port, host: '127.0.0.1' });
    lazy.on('error', () => undefined);
    const reads = Array.from({ length: 30 }, (_, index) => encode(index, { op: 'getData', path: '/' }));
    const last = encode(98, { op: 'delete', path: '/marker' });
    await session.create('/marker', 0);
    await session.request({ op: 'exists', path: '/marker', watch: true });
    lazy.write(Buffer.concat([connecting, ...reads, last, encode(99, { op: 'closeSession' })]));
    await session.nextEvent();
    await zk.stop();
    lazy.destroy();
  });

  it('is the only way to make a server, which plays only an array of steps', async () => {
    await using zk = await EmbeddedZooKeeper.start();
    expect(() => Reflect.construct(EmbeddedZooKeeper, []) as unknown).to.throw(
      TypeError,
      'use `await EmbeddedZooKeeper.start(',
    );
    expect(() => zk.play({ op: 'create2', fault: 'ignore' } as never)).to.throw(
      TypeError,
      'Expected `steps` to be an array of { op, path, fault, … }, got an object with "op", "fault"',
    );
  });

  for (const [options, message] of [
    [{ port: 65_536 }, /`port` to be a whole number from 0 to 65535, got 65536/],
    [{ port: '2181' }, /`port` to be a whole number from 0 to 65535, got "2181"/],
    [{ tickTimeMs: 0 }, /`tickTimeMs` to be a finite number of milliseconds > 0, got 0/],
    [{ minSessionTimeoutMs: -1 }, /`minSessionTimeoutMs` to be a finite number of milliseconds ≥ 0, got -1/],
    [
      { maxSessionTimeoutMs: Infinity },
      /`maxSessionTimeoutMs` to be a finite number of milliseconds ≥ 0, got Infinity/,
    ],
    [
      { minSessionTimeoutMs: 2_000, maxSessionTimeoutMs: 1_000 },
      /`maxSessionTimeoutMs` to be at least `minSessionTimeoutMs`, 2000, got 1000/,
    ],
    [
      { containerCheckIntervalMs: 'often' },
      /`containerCheckIntervalMs` to be a finite number of milliseconds > 0, got "often"/,
    ],
    [{ version: '3.10' }, /`version` to be '3.8' or '3.9', got "3.10"/],
    [{ extendedTypesEnabled: 'yes' }, /`extendedTypesEnabled` to be true or false, got "yes"/],
    [{ enforceAuthSchemes: ['sasl'] }, /`enforceAuthSchemes\[0\]` to be one of 'digest', 'ip', got "sasl"/],
    [{ fourLetterWords: '*' }, /`fourLetterWords` to be an array of some of 'ruok', 'srvr', .*, got "\*"/],
    [{ juteMaxBufferBytes: 1 }, /`juteMaxBufferBytes` to be a whole number from 64 to 1073741824, got 1/],
    [{ clock: {} }, /`clock` to be an object with a method `now`/],
    [{ clock: { now: () => NaN, after: () => () => undefined } }, /`clock.now\(\)` to be a finite number .*got NaN/],
    [{ clock: { now: () => 5, after: () => ({}) } }, /`clock.after` to be a method that returns a function/],
    [{ random: 4 }, /`random` to be a function, got 4/],
    [{ tickMs: 4 }, /Unknown option `tickMs` of EmbeddedZooKeeper.start/],
  ] as const)
    it(`refuses ${JSON.stringify(options)}`, async () => {
      const error = await EmbeddedZooKeeper.start(options as unknown as EmbeddedZooKeeperOptions).then(
        (zk) => zk.stop(),
        (reason: unknown) => reason,
      );
      expect(error).to.be.an('error').with.property('message').that.matches(message);
    });
});

/** A frame of the right length with arbitrary content. Its opcode is often a known one. */
function frame(): fc.Arbitrary<Uint8Array> {
  return fc.tuple(fc.integer({ min: -12, max: 110 }), fc.uint8Array({ maxLength: 40 })).map(([opcode, body]) => {
    const header = Buffer.alloc(12);
    header.writeInt32BE(8 + body.length, 0);
    header.writeInt32BE(1, 4);
    header.writeInt32BE(opcode, 8);
    return Buffer.concat([header, body]);
  });
}

/** Sends the chunks, and resolves when either side has closed the connection. */
async function send(port: number, chunks: readonly Uint8Array[]): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  socket.on('error', () => undefined);
  socket.resume();
  const closed = once(socket, 'close');
  for (const chunk of chunks) socket.write(chunk);
  socket.end();
  await closed;
}
