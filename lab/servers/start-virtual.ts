import { AsyncResource } from 'node:async_hooks';
import { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from '../../src/testing/index.ts';
import { phases } from '../virtual/agenda.ts';
import type { VirtualMachine } from '../virtual/bridge.ts';
import { startWallMs } from '../virtual/clocks.ts';
import { VirtualProcess } from '../virtual/virtual-process.ts';

/** Starts an embedded server as a process of its own, which goes on while the test's process is stalled. */
export function startVirtual({ time }: VirtualMachine, options: EmbeddedZooKeeperOptions): Promise<EmbeddedZooKeeper> {
  const whose = new VirtualProcess('server', time.agenda);
  const clock = {
    now: () => startWallMs + whose.now,
    after: (delayMs: number, run: () => void) =>
      time.add(Math.max(1, delayMs), phases.timer, run, { whose, resource: inNoContext }),
  };
  return time.as(whose, () => EmbeddedZooKeeper.start({ ...options, clock }));
}

const inNoContext = new AsyncResource('servers');
