import { expect } from 'chai';
import { attemptOnce, type Transaction } from '../../packages/guards/src/fenced.ts';
import type { Fence } from '../../packages/guards/src/fence.ts';
import { rejection } from '../../lab/until.ts';

describe('a guarded transaction', () => {
  it('closes a connection that its pool gives only after the hold was lost', async () => {
    const loss = new AbortController();
    let resolve: (late: Transaction<object>) => void = () => undefined;
    const begun = new Promise<Transaction<object>>((give) => (resolve = give));
    const fence = { hold: { signal: loss.signal } } as Fence;
    const attempt = rejection(
      attemptOnce(
        () => begun,
        fence,
        () => expect.fail('the job ran'),
      ),
    );
    loss.abort(new Error('lost'));
    expect((await attempt).message).to.equal('lost');
    const released: boolean[] = [];
    resolve({ release: (isUsable: boolean) => released.push(isUsable) } as unknown as Transaction<object>);
    await begun;
    expect(released).to.deep.equal([false]);
  });
});
