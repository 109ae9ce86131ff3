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
  const sizes = async (holds: number, pathBytes: number, proofs: number): Promise<number[]> => {
    const found: number[] = [];
    const path = (index: number): string => `/${String(index).padStart(pathBytes - 1, 'x')}`;
    const prover = new Prover({
      holdings: new Set(Array.from({ length: holds }, (_, index) => ({ path: path(index) }) as Holding)),
      chrootBytes: () => 0,
      sent: () => undefined,
      request: <T>(operation: Operation<T>) => {
        const to = new Writer();
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

  it('are no longer than half of what a server accepts, for the longest paths, and reach all of them', async () => {
    const found = await sizes(100, 8_192, 2);
    expect(Math.max(...found)).to.be.below(520_000);
    expect(found.reduce((sum, bytes) => sum + bytes)).to.be.above(100 * 8_192);
  });
});
