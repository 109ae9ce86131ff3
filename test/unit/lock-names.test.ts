import { once } from 'node:events';
import { expect } from 'chai';
import { lockKey } from '../../src/mutex/lock-key.ts';
import { LockLabels } from '../../packages/opentelemetry/src/lock-labels.ts';
import { defaultLockName, guardedLockName } from '../../packages/opentelemetry/src/lock-names.ts';

describe('the names of locks in metrics', () => {
  it('leave out each part of a path that has a digit', () => {
    const name = defaultLockName();
    const ours = '/tenants/a-17/7d0e2c1a-4a4e-4a0e-8f3b-0d6d1f5e2b11/nightly';
    expect(name('/locks/orders/42')).to.equal('/locks/orders/*');
    expect(name(ours)).to.equal('/tenants/*/*/nightly');
    expect(name('/locks/nightly')).to.equal('/locks/nightly');
  });

  it('are one for each type of lockKey, whatever its targets are', () => {
    const name = defaultLockName();
    const nameOf = (type: string, target: string | number): string => name(`/locks/${lockKey(type, target)}/leases`);
    expect(nameOf('order', 42)).to.equal('/locks/order:*/leases');
    expect(nameOf('user', 7)).to.equal('/locks/user:*/leases');
    for (const user of ['zoe', 'tom', '', 'a:b', 'ü', 'long'.repeat(100)])
      expect(nameOf('user', user)).to.equal('/locks/user:*/leases');
    // The escapes of these letters contain digits.
    expect(nameOf('größe', 'zoe')).to.equal(`/locks/${encodeURIComponent('größe')}:*/leases`);
    expect(nameOf('tenant-17', 'zoe')).to.equal('/locks/*:*/leases');
    expect(nameOf('', 'zoe')).to.equal('/locks/:*/leases');
  });

  it('are remembered for a thousand paths at most, so that memory does not grow with the paths', () => {
    const asked: string[] = [];
    const labels = new LockLabels((path) => (asked.push(path), 'all'));
    const paths = Array.from({ length: 1_001 }, (_, index) => `/${index}`);
    for (const path of [...paths, '/1000', '/0']) labels.of({ path, kind: 'mutex' });
    expect(asked).to.deep.equal([...paths, '/0']);
  });

  it('are at most 101, whatever paths there are', () => {
    const name = defaultLockName();
    const word = (index: number): string =>
      String(index).replaceAll(/\d/g, (digit) => 'abcdefghij'[Number(digit)] ?? '');
    const names = new Set(Array.from({ length: 5_000 }, (_, index) => name(`/users/${word(index)}`)));
    expect(names.size).to.equal(101);
    expect(names.has('other')).to.equal(true);
    expect(name(`/users/${word(0)}`)).to.equal(`/users/${word(0)}`);
  });

  it('of a function that throws, or returns no text, are `other`, with one warning', async () => {
    const name = guardedLockName((path) => {
      if (path === '/none') return undefined;
      throw new Error(`no name for ${path}`);
    });
    const warned = once(process, 'warning');
    expect([name('/a'), name('/b'), name('/none')]).to.deep.equal(['other', 'other', 'other']);
    const [warning] = (await warned) as [Error];
    expect(warning.message).to.equal('no name for /a');
  });
});
