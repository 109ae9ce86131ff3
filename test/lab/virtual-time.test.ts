import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { phases } from '../../lab/virtual/agenda.ts';
import { VirtualTime } from '../../lab/virtual/virtual-time.ts';

describe('virtual time', () => {
  let time: VirtualTime;
  beforeEach(() => {
    time = new VirtualTime();
    const tick = (): void => void time.add(100, phases.timer, tick);
    tick();
  });
  afterEach(() => time.stop());

  it('stands still while a module is loaded, also one that was loaded before', async () => {
    for (let count = 0; count < 2; count += 1) await import('../../packages/zklock/src/cli/verbs/man.ts');
    expect(time.now()).to.equal(0);
  });

  it('stands still while a file is read', async () => {
    await readFile(new URL(import.meta.url));
    expect(time.now()).to.equal(0);
  });

  it('goes on afterwards', async () => {
    await new Promise<void>((resolve) => time.add(60_000, phases.timer, resolve));
    expect(time.now()).to.equal(60_000);
  });
});
