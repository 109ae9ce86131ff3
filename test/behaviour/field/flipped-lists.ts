import { InterProcessMutex, InterProcessReadWriteLock, type LockClient } from '../../../src/index.ts';
import { expect } from 'chai';
import { labOfEachTest } from '../../../lab/lab.ts';
import { withFlippedBit } from '../../../lab/proxy/flipped-bit.ts';
import { answered, once } from '../../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';

const sessionTimeoutMs = 4_000;

type Lock = (client: LockClient, path: string) => InterProcessMutex;

const mutex: Lock = (client, path) => new InterProcessMutex(client, path);
const waiting: Lock = (client, path) => new InterProcessMutex(client, path, { foreignNodes: 'wait' });
const writer: Lock = (client, path) => new InterProcessReadWriteLock(client, path).writeLock;
const reader: Lock = (client, path) => new InterProcessReadWriteLock(client, path).readLock;

/** The locks of the holder and of two waiters. */
const queues = {
  mutex: [mutex, mutex, mutex],
  "foreignNodes: 'wait'": [waiting, waiting, waiting],
  'a reader and a writer behind a writer': [writer, reader, writer],
} as const;

export const everyBit = [0, 1, 2, 3, 4, 5, 6, 7];

/** Tests the locks with one flipped bit at a time in the list of one waiter, at the bits of each byte that `bitsAt` names. */
export function testFlippedLists(
  where: string,
  flippedWaiters: readonly number[],
  bitsAt: (at: number, list: Frame | undefined) => readonly number[],
): void {
  const lab = labOfEachTest('flipped-list', { server: 'own', proxy: true });

  for (const [name, [held, ...others]] of Object.entries(queues))
    for (const flipped of flippedWaiters)
      it(`${name}: in the list of waiter ${flipped + 1}, ${where}: one at a time, and all get the lock`, async () => {
        let list: Frame | undefined;
        let flips = 0;
        for (let at = 0; at === 0 || (list && at < list.body.length); at += 1)
          for (const bit of bitsAt(at, list)) {
            const path = `${lab.path}/${at}-${bit}`;
            const section = new Section();
            const hold = await held(lab.other, path).acquire();
            const leave = section.enter();
            const clients = await Promise.all(others.map(() => connect()));
            const outcomes: Promise<string>[] = [];
            for (const [index, other] of others.entries()) {
              if (index === flipped)
                flipIn(path, at, bit, (frame) => {
                  list = frame;
                  flips += 1;
                });
              outcomes.push(section.runIn(other(clients[index] as LockClient, path)));
              await lab.sleep(100);
            }
            leave();
            await hold.release();
            const place = `byte ${at}, bit ${bit}`;
            expect(await Promise.all(outcomes), place).to.deep.equal(
              others.map((_, index) => (index === flipped && isError(at) ? 'ERR_LOCK_REQUEST_FAILED' : 'done')),
            );
            expect(section.most, place).to.equal(1);
            await Promise.all(clients.map((client) => client.close()));
          }
        expect(flips).to.be.above(15);
      }).timeout(3_600_000);

  function flipIn(path: string, at: number, bit: number, seen: (list: Frame) => void): void {
    once(
      lab.proxy,
      (frame) => answered('getChildren2')(frame) && frame.path === path,
      (frame) => {
        seen(frame);
        return { replaceWith: withFlippedBit(frame, at, bit) };
      },
    );
  }

  function connect(): Promise<LockClient> {
    return lab.connect({ sessionTimeoutMs }, lab.proxy.connectString);
  }

  class Section {
    most = 0;
    #inside = 0;

    enter(): () => void {
      this.#inside += 1;
      this.most = Math.max(this.most, this.#inside);
      return () => (this.#inside -= 1);
    }

    /** Resolves with the outcome. */
    runIn(lock: InterProcessMutex): Promise<string> {
      const job = async (): Promise<string> => {
        const leave = this.enter();
        await lab.sleep(10);
        leave();
        return 'done';
      };
      return lock
        .withLock(job, { timeoutMs: sessionTimeoutMs })
        .catch((error: unknown) => String((error as { code?: string }).code));
    }
  }
}

/** Where the names of the list have their numbers. */
export function numbersIn(list: Frame | undefined): number[] {
  return [...(list?.body.toString('latin1').matchAll(/(?<=lock-|__)\d{10}/g) ?? [])].map(({ index }) => index);
}

/** The code in front of the answer. */
function isError(at: number): boolean {
  return at >= 12 && at < 16;
}
