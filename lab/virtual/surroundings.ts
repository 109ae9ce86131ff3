import { AsyncResource } from 'node:async_hooks';
import type { Surroundings } from '../../src/client/surroundings.ts';
import type { Clock } from '../../src/support/clock.ts';
import { inNoContext } from '../../src/support/no-context.ts';
import type { Host } from '../../src/zookeeper/wire/connect-string.ts';
import type { Random } from '../random.ts';
import { phases } from './agenda.ts';
import type { VirtualMachine } from './bridge.ts';
import { startWallMs } from './clocks.ts';
import type { VirtualProcess } from './virtual-process.ts';
import { VirtualSocket } from './virtual-socket.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The clock, the chance and the network of a virtual process, for a client of the library. Its sockets stall with it. */
export function surroundingsOf(whose: VirtualProcess, machine: VirtualMachine, random: Random): VirtualSurroundings {
  return {
    clock: clockOf(whose, machine.time),
    chance: { random: () => random.next(), uuid: () => random.uuid() },
    network: {
      connect: ({ host, port }) => machine.time.as(whose, () => VirtualSocket.connect(machine.network, { host, port })),
    },
  };
}

export interface VirtualSurroundings extends Surroundings {
  readonly network: { connect(to: Host): VirtualSocket };
}

/** The clock of a virtual process. A timer takes at least a millisecond, as in Node. */
function clockOf(whose: VirtualProcess, time: VirtualTime): Clock {
  const add = (delayMs: number, phase: (typeof phases)[keyof typeof phases], run: () => void) =>
    inNoContext(() => time.add(delayMs, phase, run, { whose }));
  return {
    now: () => whose.now,
    after: (delayMs, run) => add(Math.max(1, delayMs), phases.timer, run),
    afterPoll: (run) => void add(0, phases.check, run),
    wall: () => startWallMs + Math.floor(whose.now),
  };
}

/** The clock of a virtual server, whose time is that of the day. */
export function serverClock(whose: VirtualProcess, time: VirtualTime, leastMs = 1): Pick<Clock, 'now' | 'after'> {
  return {
    now: () => startWallMs + whose.now,
    after: (delayMs, run) => time.add(Math.max(leastMs, delayMs), phases.timer, run, { whose, resource: servers }),
  };
}

/** One for all events of servers, in which no code of an application runs. */
const servers = new AsyncResource('servers');
