import { Random } from '../lab/random.ts';
import { VirtualEnsemble } from '../lab/servers/virtual/virtual-ensemble.ts';
import type { VirtualMachine } from '../lab/virtual/bridge.ts';
import type { Plan } from './plan.ts';

/** The servers of a plan. One server is an ensemble of one member. */
export function serversOf(
  { seed, members, tickTimeMs, mostDelayMs, turnMs = 0, locks }: Plan,
  machine: VirtualMachine,
) {
  const servers = new VirtualEnsemble(machine, new Random(seed, 2), {
    members,
    tickTimeMs,
    delayMs: (mostDelayMs - turnMs) / 4,
    // The judge of weights compares the sequence numbers of a whole run. They begin anew when the path is reaped.
    containerCheckIntervalMs: locks.some(({ is }) => is === 'weighted') ? 1e9 : tickTimeMs,
  });
  void servers.start();
  return servers;
}
