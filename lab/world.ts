import { AsyncResource } from 'node:async_hooks';
import { phases } from './virtual/agenda.ts';
import { VirtualProcess } from './virtual/virtual-process.ts';
import type { EmbeddedZooKeeper, EmbeddedZooKeeperOptions } from '../src/testing/index.ts';
import { enterVirtualMachine, type VirtualMachine } from './virtual/bridge.ts';

/** The virtual machine that this process is; undefined in the real world. Import it before anything of `src`. */
export const virtualMachine: VirtualMachine | undefined =
  process.env['TEST_WORLD'] === 'virtual' ? enterVirtualMachine() : undefined;

export async function startIn({ time }: VirtualMachine, options: EmbeddedZooKeeperOptions): Promise<EmbeddedZooKeeper> {
  const machine = new VirtualProcess('server', time.agenda);
  const clock = {
    now: () => startWallMs + machine.now,
    after: (delayMs: number, run: () => void) =>
      time.add(Math.max(1, delayMs), phases.timer, run, { whose: machine, resource: none }),
  };
  const { EmbeddedZooKeeper } = await import('../src/testing/index.ts');
  return time.as(machine, () => EmbeddedZooKeeper.start({ ...options, clock }));
}
const none = new AsyncResource('servers');
const startWallMs = 1_700_000_000_000;
