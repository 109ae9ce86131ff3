import { connect } from 'node:net';
import type { Surroundings } from '../../src/client/surroundings.ts';
import { inNoContext } from '../../src/support/no-context.ts';
import type { Random } from '../random.ts';
import { phases } from './agenda.ts';
import { startWallMs } from './clocks.ts';
import type { VirtualProcess } from './virtual-process.ts';
import type { VirtualTime } from './virtual-time.ts';

/** The clock, the chance and the network of a virtual process, for a client of the library. Its sockets stall with it. */
export function surroundingsOf(whose: VirtualProcess, time: VirtualTime, random: Random): Surroundings {
  return {
    clock: {
      now: () => whose.now,
      // As Node does: at least a millisecond, and whole ones.
      after: (delayMs, run) =>
        inNoContext(() => time.add(Math.max(1, Math.ceil(delayMs)), phases.timer, run, { whose })),
      afterPoll: (run) => void inNoContext(() => time.add(0, phases.check, run, { whose })),
      wall: () => startWallMs + Math.floor(whose.now),
    },
    chance: { random: () => random.next(), uuid: () => random.uuid() },
    network: { connect: ({ host, port }) => time.as(whose, () => connect({ host, port })) },
  };
}
