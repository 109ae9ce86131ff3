import { expect } from 'chai';
import { InterProcessMutex, InterProcessReadWriteLock, type Hold, type LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { withFlippedBit } from '../../../lab/proxy/flipped-bit.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import type { Frame } from '../../../lab/proxy/zk-proxy.ts';
import { InProcess } from '../operator/in-process.ts';
import { until } from '../../../lab/until.ts';
import { awaitedLater } from './support.ts';

const sessionTimeoutMs = 4_000;
const noNode = -101;

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

describe('FIELD D2: one flipped bit in a list of children', () => {
  const lab = labOfEachTest('flipped-list', { server: 'own', proxy: true });

  for (const [name, [held, ...others]] of Object.entries(queues))
    for (const flipped of [0, 1])
      it(`${name}: in the list of waiter ${flipped + 1}, at any place: one at a time, and all get the lock`, async () => {
        let list: Frame | undefined;
        for (let at = 0; at === 0 || (list && at < list.body.length); at += 1)
          for (const bit of bitsAt(at, list)) {
            const path = `${lab.path}/${at}-${bit}`;
            const section = new Section();
            const hold = await held(lab.other, path).acquire();
            const leave = section.enter();
            const clients = await Promise.all(others.map(() => connect()));
            const outcomes: Promise<string>[] = [];
            for (const [index, other] of others.entries()) {
              if (index === flipped) flipIn(path, at, bit, (frame) => (list = frame));
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
      }).timeout(3_600_000);

  it('is noticed also if the number is free, because the waiter watches the znode', async () => {
    const hold = await lab.theirs.acquire();
    const [first, second, third, ...others] = await queued(6);
    for (const other of others) await other.leave();
    flipNumber(second, 2, '6');
    await first.leave();
    await hold.release();
    await second.acquired;
    await expectWaits(third.acquired);
    await second.leave();
    await third.acquired;
  });

  /**
   * The one change that is not noticed: a participant that came after the waiter has left, so its number is given out and
   * free; the changed bit gives this number to the holder; and the waiter does not watch the holder, because two others
   * stand between. Only one more list for each grant would show it.
   */
  it('may give the holder the number of a participant that has left: then a waiter is granted too early', async () => {
    const hold = await lab.theirs.acquire();
    const [first, second, third, ...others] = await queued(4);
    for (const other of others) await other.leave();
    flipNumber({ path: hold.path }, 2, '4');
    await first.leave();
    await second.leave();
    await third.acquired;
    expect(hold.isValid).to.equal(true);
    await hold.release();
  });

  async function queued(count: number): Promise<[Queued, Queued, Queued, ...Queued[]]> {
    const all: Queued[] = [];
    while (all.length < count) {
      const controller = new AbortController();
      const client = await connect();
      const acquired = awaitedLater(mutex(client, lab.path).acquire({ signal: controller.signal }));
      await lab.sleep(100);
      const [name = ''] = (await lab.observer.children(lab.path)).sort(byNumber).slice(-1);
      const leave = async (): Promise<void> => {
        controller.abort();
        await acquired.then(
          (hold) => hold.release(),
          () => undefined,
        );
        await lab.sleep(100);
      };
      all.push({ path: `${lab.path}/${name}`, acquired, leave });
    }
    return all as [Queued, Queued, Queued, ...Queued[]];
  }

  /** Gives the znode another number in the next list. */
  function flipNumber({ path }: Pick<Queued, 'path'>, bit: number, digit: string): void {
    const name = path.slice(lab.path.length + 1);
    once(lab.proxy, answered('getChildren2'), (frame) => {
      const replaceWith = withFlippedBit(frame, frame.body.toString('latin1').indexOf(name) + name.length - 1, bit);
      expect(replaceWith.toString('latin1')).to.contain(`${name.slice(0, -1)}${digit}`);
      return { replaceWith };
    });
  }

  async function expectWaits(acquired: Promise<unknown>): Promise<void> {
    const first = await Promise.race([acquired.then(() => 'granted'), lab.sleep(sessionTimeoutMs).then(() => 'waits')]);
    expect(first).to.equal('waits');
  }

  it('a request for a predecessor that was changed on its way is asked again once, and its watch is kept', async () => {
    const held: Pick<Hold, 'release'>[] = [await lab.theirs.acquire()];
    const others = Array.from({ length: 3 }, () => awaitedLater(new InterProcessMutex(lab.other, lab.path).acquire()));
    await until('three wait', async () => (await lab.observer.children(lab.path)).length === 4);
    const names = (await lab.observer.children(lab.path)).sort(byNumber);
    const predecessor = `${lab.path}/${names.at(-1)}`;
    const reads = (): number => lab.proxy.frames.filter((frame) => isRead(frame)).length;
    const isRead = (frame: Frame): boolean => sent('getData')(frame) && frame.path === predecessor;
    once(lab.proxy, isRead, () => ({ refuse: noNode }));
    const acquired = awaitedLater(lab.mutex.acquire());
    await until('it is asked again', () => reads() === 2);
    for (const next of others) {
      await held.pop()?.release();
      held.push(await next);
      await lab.sleep(100);
    }
    expect(reads()).to.equal(2);
    await held.pop()?.release();
    await (await acquired).release();
  });

  for (const verb of ['release', 'revoke'])
    it(`zklock ${verb} reads the list twice, and does not hit a waiter`, async () => {
      const hold = await lab.theirs.acquire();
      const [{ acquired, path }] = await queued(1);
      flipNumber({ path: hold.path }, 2, '4');
      const run = new InProcess(lab.proxy.connectString, [verb, lab.path]);
      expect(await run.ended).to.equal(70);
      expect(run.out).to.equal('');
      expect(run.errors).to.equal(
        `nothing done: two reads of ${lab.path} show different holders. Run the command again\n`,
      );
      expect(await lab.observer.children(lab.path)).to.include(path.slice(lab.path.length + 1));
      await hold.release();
      await (await acquired).release();
    });

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
});

interface Queued {
  readonly path: string;
  readonly acquired: Promise<Hold>;
  readonly leave: () => Promise<void>;
}

function byNumber(a: string, b: string): number {
  return Number(a.slice(-10)) - Number(b.slice(-10));
}

/** All bits in the last digits of the numbers, and one bit in each other byte. */
function bitsAt(at: number, list: Frame | undefined): number[] {
  const numbers = list?.body.toString('latin1').matchAll(/(?<=lock-|__)\d{10}/g) ?? [];
  return [...numbers].some(({ index }) => at >= index + 8 && at < index + 10) ? everyBit : [(at >> 2) % 8];
}

/** The code in front of the answer. */
function isError(at: number): boolean {
  return at >= 12 && at < 16;
}

const everyBit = [0, 1, 2, 3, 4, 5, 6, 7];
