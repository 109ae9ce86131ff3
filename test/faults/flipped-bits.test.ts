import { InterProcessMutex, InterProcessReadWriteLock, type LockClient } from '../../src/index.ts';
import { expect } from 'chai';
import { labOfEachTest } from '../../lab/lab.ts';
import { withFlippedBit } from '../../lab/proxy/flipped-bit.ts';
import { answered, once, sent } from '../../lab/proxy/frame-matches.ts';
import { until } from '../../lab/until.ts';
import { awaitedLater, isFree, leftOn } from '../behaviour/field/support.ts';

const sessionTimeoutMs = 4_000;

const mutexes = (client: LockClient, path: string): InterProcessMutex => new InterProcessMutex(client, path);

const writers = (client: LockClient, path: string): InterProcessMutex =>
  new InterProcessReadWriteLock(client, path).writeLock;

const everyBit = [0, 1, 2, 3, 4, 5, 6, 7];

describe('FIELD D2: one flipped bit at any place', () => {
  const lab = labOfEachTest('flipped', { server: 'own', proxy: true });

  for (const [what, match, use, others = mutexes] of [
    ['a create', sent('create2'), takeTurns],
    ["a create's answer", answered('create2'), takeTurns],
    ['a delete', sent('delete'), takeTurns],
    ["a delete's answer", answered('delete'), takeTurns],
    ['a hand-over', sent('multi'), handOver],
    ["a hand-over's answer", answered('multi'), handOver],
    ['a downgrade', sent('multi'), downgrade, writers],
    ["a downgrade's answer", answered('multi'), downgrade, writers],
  ] as const)
    for (const part of [0, 1, 2, 3])
      it(`in ${what}, at any place (part ${part} of 4): the lock is free for others within a session timeout`, async () => {
        for (let at = part, length = Infinity; at < length; at += 4)
          for (const bit of at + 4 < length ? [(at >> 2) % 8] : everyBit) {
            const path = `${lab.path}/${at}-${bit}-a`;
            const lock = others(lab.other, path);
            // The second path differs in one bit of its last character, which may be the one that is flipped.
            for (const each of [lock, others(lab.other, `${path.slice(0, -1)}c`)])
              await (await each.acquire()).release();
            const client = await lab.connect({ sessionTimeoutMs }, lab.proxy.connectString);
            once(
              lab.proxy,
              // A create may be refused first, because the servers have deleted the empty lock meanwhile.
              (frame) => match(frame) && frame.path?.startsWith(path) === true && !frame.err,
              (frame) => {
                length = frame.body.length;
                return { replaceWith: withFlippedBit(frame, at, bit) };
              },
            );
            await use(client, path);
            const place = `byte ${at}, bit ${bit}`;
            await until(`${place}: the lock is free`, () => isFree(lock, sessionTimeoutMs), sessionTimeoutMs);
            await lab.sleep(1_000);
            expect(await leftOn(lab, path), place).to.deep.equal([]);
            expect(length, 'the frame was sent').to.be.below(Infinity);
            await client.close();
          }
      }).timeout(3_600_000);
});

async function takeTurns(client: LockClient, path: string): Promise<void> {
  const mutex = new InterProcessMutex(client, path);
  await mutex.withLock(() => undefined, { timeoutMs: 1_000 }).catch(ignore);
}

async function handOver(client: LockClient, path: string): Promise<void> {
  const mutex = new InterProcessMutex(client, path);
  const first = await mutex.acquire();
  const second = awaitedLater(mutex.acquire({ timeoutMs: 1_000 }));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await first.release();
  await second.then((hold) => hold.release(), ignore);
}

async function downgrade(client: LockClient, path: string): Promise<void> {
  const { readLock, writeLock } = new InterProcessReadWriteLock(client, path);
  await writeLock.withLock(() => readLock.withLock(() => undefined, { timeoutMs: 1_000 })).catch(ignore);
}

function ignore(): void {
  // The test asks only whether the lock is free afterwards.
}
