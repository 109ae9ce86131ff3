import { expect } from 'chai';
import { basename } from 'node:path';
import { sharedServerTests } from '../../lab/servers/docker/shared-server-tests.ts';

describe('the tests that run against containers', () => {
  const names = sharedServerTests().map((file) => basename(file));

  it('include those that use the shared server themselves', () => {
    expect(names).to.include.members(['mutex.test.ts', 'with-lock.test.ts']);
  });

  it('include those that use it by a helper', () => {
    expect(names).to.include.members(['hold.test.ts', 're-entry.test.ts']);
  });

  it('exclude those that start their own server', () => {
    expect(names).not.to.include.members(['session-loss.test.ts']);
    expect(names).not.to.include.members(['silence.test.ts']);
  });
});
