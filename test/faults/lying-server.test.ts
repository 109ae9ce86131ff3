import { expect } from 'chai';
import { InterProcessMutex, type LockClient } from '../../src/index.ts';
import { Writer } from '../../src/zookeeper/wire.ts';
import { answered, once, sent } from '../../harness/frame-matches.ts';
import { labOfEachTest } from '../../harness/lab.ts';
import { ownLongestBlock } from '../../harness/loop-block.ts';
import { connectResponse, startFakeServer } from '../../harness/fake-server.ts';
import { testPath } from '../../harness/test-path.ts';
import { rejection, until } from '../../harness/until.ts';
import type { Frame } from '../../harness/zk-proxy.ts';

const mostMemory = 64 * 1024 * 1024;
/**
 * Ten times as long as on an idle machine (50 ms), because other programs of the machine may hold the test up. Work that
 * grows with the square of the answer takes far longer.
 */
const mostBlockMs = 500;

/** The header of an answer to the frame's request, or of another one. */
const reply = ({ xid }: { readonly xid: number }, zxid = 1n): Writer => new Writer().int(xid).long(zxid).int(0);

const withLength = (length: number, more = 64): Buffer => {
  const bytes = Buffer.alloc(4 + more);
  bytes.writeInt32BE(length, 0);
  return bytes;
};

const names = (count: number, name: (index: number) => string): Writer => {
  const to = new Writer().int(count);
  for (let index = 0; index < count; index += 1) to.text(name(index));
  return to;
};

/** An answer with a list of children, made before its request is known. */
const queueOf = (count: number, name: (index: number) => string): ((frame: Frame) => Buffer) => {
  const list = names(count, name).frame().subarray(4);
  const bytes = Buffer.concat([
    withLength(16 + list.length + statBytes, 0),
    Buffer.alloc(16),
    list,
    Buffer.alloc(statBytes),
  ]);
  return ({ xid }) => {
    bytes.writeInt32BE(xid, 4);
    return bytes;
  };
};

const statBytes = 68;

interface Lie {
  readonly what: string;
  /** The first answer of this kind is replaced. */
  readonly to: Frame['op'];
  /** Called before anything is measured. */
  readonly by: () => (frame: Frame) => Buffer;
  /** The text of the warning. */
  readonly says: RegExp;
}

const waiterName = (index: number): string =>
  `_c_24fbea0a-aed6-4c73-9226-c5d2af4d6939-lock-${String(index).padStart(10, '0')}`;

const lies: readonly Lie[] = [
  {
    what: 'a length of 1 GB',
    to: 'getChildren2',
    by: () => () => withLength(2 ** 30),
    says: /A frame of 1073741824 bytes is not ZooKeeper's/,
  },
  {
    what: 'a negative length',
    to: 'create2',
    by: () => () => withLength(-7),
    says: /A frame of -7 bytes is not/,
  },
  {
    what: 'a frame that is too short for an answer',
    to: 'create2',
    by: () => () => withLength(5, 5),
    says: /A frame of 5 bytes is too short/,
  },
  {
    what: 'the answer to another request',
    to: 'create2',
    by:
      () =>
      ({ xid }) =>
        reply({ xid: xid + 1_000 }).frame(),
    says: /The server answered request \d+, but the answer to request \d+ was due/,
  },
  {
    what: 'an answer twice, as if in front of the next one',
    to: 'create2',
    by: () => (frame) => Buffer.concat([framed(frame), framed(frame)]),
    says: /The server answered request \d+, but/,
  },
  {
    what: 'the answer to a ping that was not sent',
    to: 'getChildren2',
    by: () => () => reply({ xid: -2 }).frame(),
    says: /The server answered a ping, but no answer was due/,
  },
  {
    what: 'an answer whose text is longer than its frame',
    to: 'create2',
    by: () => (frame) =>
      reply(frame)
        .int(2 ** 30)
        .frame(),
    says: /A record of length 1073741824 is cut short/,
  },
  {
    what: 'a list of 2³¹ names',
    to: 'getChildren2',
    by: () => (frame) =>
      reply(frame)
        .int(2 ** 31 - 1)
        .frame(),
    says: /A record of length 2147483647 is cut short/,
  },
  {
    what: 'another znode than the asked one',
    to: 'create2',
    by: () => (frame) => reply(frame).text('/zookeeper/quota').long(1n).frame(),
    says: /The server created another znode than the one that was asked for/,
  },
  {
    what: 'names that are no names',
    to: 'getChildren2',
    by: () => queueOf(3, (index) => ['', '../..', 'a/b'][index] ?? ''),
    says: /contains a name that is none/,
  },
  {
    what: 'a list of a million children',
    to: 'getChildren2',
    by: () => queueOf(1_000_000, waiterName),
    says: /A frame of \d{8} bytes is not ZooKeeper's/,
  },
  {
    what: 'a list of 800,000 children in 4 MB',
    to: 'getChildren2',
    by: () => queueOf(800_000, () => 'x'),
    says: /A list of 800000 names is longer than 100000/,
  },
];

function framed(frame: Frame): Buffer {
  return Buffer.concat([withLength(frame.body.length, 0), frame.body]);
}

describe('a server that lies', function () {
  this.timeout(60_000);
  let warnings: string[];
  const lab = labOfEachTest('lying', { server: 'own', proxy: true, client: 'none' });

  const connect = (): Promise<LockClient> => {
    warnings = [];
    return lab.connect({ sessionTimeoutMs: 10_000, logger: { warn: (_details, text) => void warnings.push(text) } });
  };

  for (const { what, to, by, says } of lies) {
    it(`with ${what}: a clear error, a new connection, and little memory and time`, async () => {
      const client = await connect();
      await new InterProcessMutex(client, testPath('warm')).withLock(() => undefined);
      const lie = by();
      const before = process.memoryUsage();
      const blockedMs = await ownLongestBlock(async () => {
        warnings.length = 0;
        const connections = lab.proxy.frames.filter(sent('connect')).length;
        once(lab.proxy, answered(to), (frame) => ({ replaceWith: lie(frame) }));
        const mutex = new InterProcessMutex(client, testPath('lied-to'));
        await mutex.withLock((hold) => expect(hold.isValid).to.equal(true));
        expect(warnings.join('\n')).to.match(says);
        expect(lab.proxy.frames.filter(sent('connect')).length).to.be.above(connections);
      }, mostBlockMs);
      expect(blockedMs, 'ms of the event loop').to.be.below(mostBlockMs);
      expect(process.memoryUsage().arrayBuffers - before.arrayBuffers, 'bytes').to.be.below(mostMemory);
    });
  }

  it('with events for paths that were never watched is believed in nothing', async () => {
    const client = await connect();
    const event = (path: string, type: number): Buffer =>
      new Writer().int(-1).long(-1n).int(0).int(type).int(3).text(path).frame();
    once(lab.proxy, answered('create2'), (frame) => ({
      replaceWith: Buffer.concat([
        ...Array.from({ length: 1_000 }, (_, index) => event(`/never/watched-${index}`, 1 + (index % 4))),
        event('', 2),
        event('/x', 77),
        framed(frame),
      ]),
    }));
    const mutex = new InterProcessMutex(client, lab.path);
    const hold = await mutex.acquire();
    expect(hold.isValid).to.equal(true);
    expect(await hold.release()).to.equal('released');
    expect(warnings).to.deep.equal([]);
  });

  it('that answers one byte a second does not count as a server that answers', async () => {
    await using drip = await startFakeServer((connection) =>
      connection === 1 ? { stay: connectResponse({ timeoutMs: 4_000 }) } : { relayTo: lab.server.port },
    );
    const { sockets } = drip;
    const timer = setInterval(() => {
      for (const socket of sockets()) socket.write(Buffer.of(0));
    }, 1_000);
    try {
      const startedAt = performance.now();
      const client = await lab.connect({ sessionTimeoutMs: 4_000, connectionTimeoutMs: 20_000 }, drip.connectString);
      await new InterProcessMutex(client, lab.path).withLock((hold) => expect(hold.isValid).to.equal(true));
      // Two thirds of the session timeout, and the attempts.
      expect(performance.now() - startedAt).to.be.below(10_000);
      expect(drip.asked).to.be.above(1);
    } finally {
      clearInterval(timer);
    }
  });

  it('with an unknown error code fails the call with that code', async () => {
    const client = await connect();
    once(lab.proxy, answered('create2'), { replaceError: -999 });
    const error = await rejection(new InterProcessMutex(client, lab.path).acquire());
    expect(error).to.have.property('code', 'ERR_LOCK_REQUEST_FAILED');
    expect(error.message).to.contain('UNKNOWN (-999) from create2');
    await until('its znode is gone', async () => (await lab.observer.children(lab.path)).length === 0);
  });
});

describe('the longest list that is read', () => {
  for (const [what, name] of [
    ['with the names of waiters', waiterName],
    ['with short names', (index: number) => `lock-${index}`],
  ] as const)
    it(`${what} is read and sorted without a long block of the event loop`, async () => {
      const { getChildren } = await import('../../src/zookeeper/operations.ts');
      const { Reader } = await import('../../src/zookeeper/wire.ts');
      const { standardDriver } = await import('../../src/driver/standard-driver.ts');
      const { longestFrame } = await import('../../src/zookeeper/frames.ts');
      const each = 4 + waiterName(0).length;
      const count = name === waiterName ? Math.floor((longestFrame - 90) / each) : 100_000;
      const bytes = names(count, name).frame();
      expect(bytes.length).to.be.below(longestFrame);
      const blocked = await ownLongestBlock(async () => {
        const list = getChildren('/').read(new Reader(bytes, 4));
        standardDriver.sort(list);
        await Promise.resolve();
      }, mostBlockMs);
      expect(blocked).to.be.below(mostBlockMs);
    });
});
