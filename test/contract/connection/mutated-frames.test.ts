import { expect } from 'chai';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { InterProcessMutex } from '../../../src/index.ts';
import {
  createContainer,
  createPersistent,
  createSequential,
  exists,
  getChildren,
  getData,
  openAcl,
  remove,
  setData,
  setWatches,
  sync,
  type Operation,
} from '../../../src/zookeeper/wire/operations.ts';
import { check, checkExists, multi } from '../../../src/zookeeper/wire/transaction.ts';
import { isZooKeeperError } from '../../../src/zookeeper/wire/zookeeper-error.ts';
import type { Network } from '../../../src/zookeeper/network/network.ts';
import { ServerTraits } from '../../../src/zookeeper/connection/server-traits.ts';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { FakeLink } from '../../../lab/wire/fake-link.ts';
import { connectResponse } from '../../../lab/servers/fake-server.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { reached } from '../../../lab/reached.ts';
import { Random } from '../../../lab/random.ts';
import { queueReaches } from '../../../lab/queue.ts';

const cases = Number(process.env['MUTATED_FRAMES'] ?? 100_000);
const seed = Number(process.env['MUTATED_SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const mostMemory = 64 * 1024 * 1024;
/** Milliseconds of CPU time, because another program of the machine may hold a frame up. */
const mostMsOfFrame = 50;
/** Another program may also take the caches of the processor, and V8 may collect garbage in a frame. */
const mostTries = 10;

/** The requests whose recorded answers are mutated, by their names in the record. */
const operations: Readonly<Record<string, () => Operation<unknown>>> = {
  create2: () => createSequential('/lock/a-', Buffer.alloc(0), openAcl),
  create: () => createPersistent('/lock', openAcl),
  createContainer: () => createContainer('/lock', openAcl),
  delete: () => remove('/lock/a'),
  exists: () => exists('/lock/a', true),
  getData: () => getData('/lock/a', true),
  setData: () => setData('/lock/a', Buffer.from('x')),
  getChildren2: () => getChildren('/lock', true),
  sync: () => sync('/'),
  multi: () => multi(checkExists('/lock/a'), remove('/lock/b')),
  multiCheck: () => check(['/']),
  setWatches: () => setWatches(1n, 'data', () => ['/lock/a']),
};

describe(`an answer with errors in it, ${cases} times (MUTATED_SEED=${seed})`, function () {
  this.timeout(300_000);
  const lab = labOfEachTest('recorded', { server: 'own', proxy: true, client: {} });

  /** The answers of a run on a real server: waits, watches, a loss of the connection, a lock with weights. */
  const record = async (): Promise<readonly (readonly [name: string, body: Buffer])[]> => {
    const hold = await lab.mutex.acquire();
    const second = lab.theirs.acquire();
    await queueReaches(lab.mutex, 2);
    const third = lab.mutex.acquire();
    await queueReaches(lab.mutex, 3);
    const again = reached(lab.client, 'reconnected');
    lab.proxy.cut();
    await again;
    await hold.release();
    await (await second).release();
    await (await third).release();
    const weighted = new InterProcessMutex(lab.client, `${lab.path}-weighted`, { weights: {} });
    await weighted.withLock(() => undefined, { weight: 3 });
    return lab.proxy.frames
      .filter(({ from, op }) => from === 'server' && op !== 'connect')
      .map(({ op, body }) => [op, body] as const);
  };

  it('settles its request, ends at most the connection, and takes no memory and little time', async () => {
    const recorded = await record();
    expect(new Set(recorded.map(([op]) => op))).to.include.keys('create2', 'getChildren2', 'getData', 'watch', 'multi');
    const random = new Random(seed, 0);
    let link = new FakeLink();
    let links = 0;
    const network: Network = {
      connect: () => {
        links += 1;
        const next = (link = new FakeLink());
        setImmediate(() => next.emit('connect'));
        return next;
      },
    };
    const clock = new ManualClock();
    // Long ago: no operation is taken for one that ends connections, and refused without an answer.
    let later = 0;
    const traits = new ServerTraits(() => (later += 1e6));
    /** The number of the next request. */
    let next = 1;
    const open = (): ConnectionProbe => {
      next = 1;
      const opened = new ConnectionProbe([1], { network, clock, attemptMs: 1e9, traits });
      // An answer may say that the account is refused. That ends a connection for good.
      opened.on('authFailed', () => {
        probe = open();
      });
      opened.connection.connect();
      return opened;
    };
    let probe = open();
    const connected = async (): Promise<void> => {
      while (!probe.connection.isConnected) {
        // The pause before a round.
        clock.advance(1_000);
        await turn();
        if (link.written.length > 0 && !link.destroyed) link.emit('data', connectResponse());
      }
    };
    const escaped: unknown[] = [];
    const onEscape = (error: unknown): void => void escaped.push(error);
    process.on('uncaughtException', onEscape);
    const outcomes = { answered: 0, refused: 0, lost: 0 };
    /** Sends a request and its answer. Resolves with the CPU time that the answer took, in milliseconds. */
    const exchange = async ({ kind, xid, answer }: Exchange): Promise<number> => {
      await connected();
      const sent = Buffer.from(answer);
      if (sent.length >= 8 && sent.readInt32BE(4) === xid) sent.writeInt32BE(next, 4);
      next += 1;
      const asked = probe.send((operations[kind] ?? operations['exists'])?.() as Operation<unknown>);
      const settled = asked.then(
        () => 'answered' as const,
        (error: unknown) => (isZooKeeperError(error, 'CONNECTION_LOSS') ? ('lost' as const) : ('refused' as const)),
      );
      const startedAt = process.cpuUsage();
      link.emit('data', sent);
      const { user, system } = process.cpuUsage(startedAt);
      // An answer to no request, or half an answer, leaves the request open. Its connection ends with the next one.
      const still = await Promise.race([settled, turn().then(() => 'open' as const)]);
      if (still === 'open') link.destroy();
      outcomes[await settled] += 1;
      return (user + system) / 1_000;
    };
    const before = process.memoryUsage();
    let mostMs = 0;
    let last: Buffer | undefined;
    try {
      for (let done = 0; done < cases; done += 1) {
        const [name, body] = random.pick(recorded as [(typeof recorded)[number], ...typeof recorded]);
        const kind = name === 'multi' && random.chance(0.5) ? 'multiCheck' : name;
        const xid = next;
        last = mutated(body, xid, random);
        let tookMs = Infinity;
        for (let tries = 0; tries < mostTries && tookMs >= mostMsOfFrame; tries += 1)
          tookMs = Math.min(tookMs, await exchange({ kind, xid, answer: last }));
        expect(tookMs, 'ms of one frame').to.be.below(mostMsOfFrame);
        mostMs = Math.max(mostMs, tookMs);
        // The stack of an error keeps the objects of its calls.
        probe.warnings.length = 0;
      }
    } catch (error) {
      throw new Error(`MUTATED_SEED=${seed}, the last frame ${last?.toString('hex')}`, { cause: error });
    } finally {
      process.off('uncaughtException', onEscape);
      probe[Symbol.dispose]();
    }
    expect(escaped).to.deep.equal([]);
    console.log(`      the longest frame took ${mostMs.toFixed(1)} ms of CPU time`);
    collectGarbage();
    const { arrayBuffers, heapUsed } = process.memoryUsage();
    expect(arrayBuffers - before.arrayBuffers, 'bytes in array buffers').to.be.below(mostMemory);
    expect(heapUsed - before.heapUsed, 'bytes of heap').to.be.below(64 * 1024 * 1024);
    for (const [what, count] of Object.entries(outcomes)) expect(count, what).to.be.above(cases / 1_000);
    expect(links).to.be.above(cases / 100);
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

interface Exchange {
  readonly kind: string;
  /** The number of the request. */
  readonly xid: number;
  readonly answer: Buffer;
}

const odd = [
  -1,
  0,
  1,
  -2,
  -4,
  -101,
  -112,
  -115,
  -118,
  4,
  7,
  16,
  64,
  2 ** 16,
  2 ** 22,
  2 ** 26,
  2 ** 30,
  2 ** 31 - 1,
  -(2 ** 31),
];

/** The recorded answer with the number of the present request, and mostly with one to three errors. */
function mutated(body: Buffer, xid: number, random: Random): Buffer {
  let bytes: Buffer = Buffer.from(body);
  if (bytes.readInt32BE(0) > 0) bytes.writeInt32BE(xid, 0);
  for (let left = random.whole(4); left > 0; left -= 1) bytes = withError(bytes, random);
  const length = Buffer.alloc(4);
  length.writeInt32BE(random.chance(0.02) ? random.pick(odd as [number, ...number[]]) : bytes.length);
  return Buffer.concat([length, bytes]);
}

function withError(bytes: Buffer, random: Random): Buffer {
  const at = random.whole(bytes.length || 1);
  switch (random.whole(6)) {
    case 0:
      if (bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << random.whole(8));
      return bytes;
    case 1:
    case 2:
      if (bytes.length >= at + 4) bytes.writeInt32BE(random.pick(odd as [number, ...number[]]), at);
      return bytes;
    case 3:
      return bytes.subarray(0, at);
    case 4:
      return Buffer.concat([bytes, Buffer.from(Array.from({ length: random.whole(64) }, () => random.whole(256)))]);
    default:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(random.whole(bytes.length || 1))]);
  }
}
