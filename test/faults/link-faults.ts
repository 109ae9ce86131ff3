import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, FrameFact } from './fault.ts';
import type { CaseRun } from './case-run.ts';
import { sessionTimeoutMs } from './fixture.ts';

/** Longer than a server may be silent, shorter than the session lasts. */
const shortMs = sessionTimeoutMs * 0.35;
/** Until the client gives the session up, and the server has ended it. */
const longMs = sessionTimeoutMs * 1.25;

/** The faults of a network. */
export const linkFaults: readonly Fault[] = [
  { name: 'cut before it', lastsMs: 0, excludes: always, strike: () => 'cut' },
  { name: 'cut inside it', lastsMs: 0, excludes: always, strike: () => 'cut-inside' },
  { name: 'cut after it', lastsMs: 0, excludes: always, strike: () => 'cut-after' },
  {
    name: 'dropped',
    lastsMs: 0,
    // TCP never loses a frame and goes on. A lost request or reply shows by the next reply, or by silence; a lost event
    // would not show at all.
    excludes: ({ key }) => (key.op === 'watch' ? 'no connection loses an event and goes on' : undefined),
    strike: () => 'drop',
  },
  {
    name: 'delayed past the deadline',
    lastsMs: longMs,
    excludes: always,
    strike: (_frame, run) => ({ delayUntil: run.heals(delay(longMs)) }),
  },
  silence('a short silence', shortMs),
  silence('silence past the deadline', longMs),
];

function silence(name: string, lastsMs: number): Fault {
  return {
    name,
    lastsMs,
    excludes: always,
    strike: (_frame, run) => {
      run.wire.proxy.silence();
      void run.heals(speakLater(run, lastsMs));
      return 'hold';
    },
  };
}

async function speakLater(run: CaseRun, afterMs: number): Promise<void> {
  await delay(afterMs);
  run.wire.proxy.speak();
}

function always(_fact: FrameFact): undefined {
  return undefined;
}
