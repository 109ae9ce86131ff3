import { expect } from 'chai';
import type { Holding } from '../../src/zookeeper/session/holding.ts';
import type { Operation } from '../../src/zookeeper/wire/operations.ts';
import { Prover } from '../../src/zookeeper/session/prover.ts';
import type { Reply } from '../../src/zookeeper/wire/replies.ts';
import { Writer } from '../../src/zookeeper/wire/wire.ts';
import { ZooKeeperError } from '../../src/zookeeper/wire/zookeeper-error.ts';

const noNode = -101;

describe('the checks of a proof', () => {
  /** The sizes of the checks of so many proofs, in bytes, for holds with paths of this length. */
  const sizes = async (holds: number, pathBytes: number, proofs: number, chrootBytes = 0): Promise<number[]> => {
    const found: number[] = [];
    const chroot = Buffer.alloc(chrootBytes, 'c');
    const path = (index: number): string => `/${String(index).padStart(pathBytes - 1, 'x')}`;
    const prover = new Prover({
      holdings: new Set(Array.from({ length: holds }, (_, index) => ({ path: path(index) }) as Holding)),
      chrootBytes: () => chrootBytes,
      sent: () => undefined,
      request: <T>(operation: Operation<T>) => {
        const to = new Writer(chroot);
        operation.write(to);
        if (operation.name === 'multi') found.push(to.frame().length);
        return Promise.resolve({ value: { is: 'done' } } as unknown as Reply<T>);
      },
    });
    for (let proof = 0; proof < proofs; proof += 1) await prover.prove(() => undefined);
    return found;
  };

  it('are of a hundred holds, in turn', async () => {
    const [first = 0, second = 0, third = 0, fourth = 0] = await sizes(250, 60, 4);
    expect([second, fourth]).to.deep.equal([first, first]);
    expect(third).to.be.below(0.6 * first);
  });

  it('tell a waiter once that the quorum does not have its znode, also if its server still shows it', async () => {
    const told: string[] = [];
    const prover = new Prover({
      holdings: new Set(),
      chrootBytes: () => 0,
      sent: () => undefined,
      request: <T>({ name, path }: Operation<T>) => {
        const error = new ZooKeeperError(noNode, name, path);
        const isCheck = name === 'multi' && path !== '/';
        const value = isCheck ? { is: 'refused', error, errors: [error] } : { is: 'done' };
        return Promise.resolve({ value } as unknown as Reply<T>);
      },
    });
    prover.add({ path: '/lock/waiter', foundMissing: () => told.push('foundMissing') });
    await prover.prove(() => told.push('written'));
    expect(told).to.deep.equal(['foundMissing', 'written']);
    await prover.prove(() => told.push('written again'));
    expect(told).to.deep.equal(['foundMissing', 'written', 'written again']);
  });

  for (const [chrootBytes, pathBytes] of [
    [0, 8_192],
    [8_000, 192],
  ] as const)
    it(`are no longer than half of what a server accepts, for paths of ${pathBytes} bytes below a chroot of ${chrootBytes}, and reach all of them`, async () => {
      const found = await sizes(100, pathBytes, 2, chrootBytes);
      expect(Math.max(...found)).to.be.below(520_000);
      expect(found.reduce((sum, bytes) => sum + bytes)).to.be.above(100 * 8_192);
    });

  it('mark all holds without a znode as lost before the first one is told, and count when all are answered', async () => {
    const told: string[] = [];
    const answers: (() => void)[] = [];
    const hold = (name: string): Holding => ({
      path: `/lock/${name}`,
      heldSince: 0,
      isInner: false,
      isOfLiveJob: true,
      markLost: (reason) => told.push(`${name} ${reason}`),
      tellLost: () => told.push(`${name} told`),
      foundMissing: () => told.push(`${name} missing`),
    });
    const prover = new Prover({
      holdings: new Set([hold('a'), hold('b')]),
      chrootBytes: () => 0,
      sent: () => undefined,
      request: <T>({ name, path }: Operation<T>) => {
        const error = new ZooKeeperError(noNode, name, path);
        const value = path === '/lock/b' ? { is: 'refused', error, errors: [error, error] } : { is: 'done' };
        return new Promise<Reply<T>>((resolve) => answers.push(() => resolve({ value } as unknown as Reply<T>)));
      },
    });
    prover.add({ path: '/lock/waiter', foundMissing: () => undefined });
    const proving = prover.prove(() => told.push('written'));
    for (const answer of [...answers, () => answers.at(-1)?.()]) {
      answer();
      await new Promise(setImmediate);
      told.push('|');
    }
    await proving;
    expect(told.join(' ')).to.equal('| a node-deleted b node-deleted a told b told a missing b missing written | |');
  });
});
