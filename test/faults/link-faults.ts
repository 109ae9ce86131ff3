import { setTimeout as delay } from 'node:timers/promises';
import type { Fault, FrameFact } from './fault.ts';
import type { CaseRun } from './case-run.ts';
import { sessionTimeoutMs } from './fixture.ts';

/** Longer than the server may be silent, shorter than the session lives. */
const shortMs = sessionTimeoutMs * 0.35;
/** Until the client gives up on the session, and the server has ended it. */
const longMs = sessionTimeoutMs * 1.25;

/** What a network does. */
export const linkFaults: readonly Fault[] = [
  { name: 'cut before it', lastsMs: 0, excludes: always, strike: () => 'cut' },
  { name: 'cut inside it', lastsMs: 0, excludes: always, strike: () => 'cut-inside' },
  { name: 'cut after it', lastsMs: 0, excludes: always, strike: () => 'cut-after' },
  {
    name: 'dropped',
    lastsMs: 0,
    // TCP loses no frame and goes on. A request or a reply that is lost shows by the next reply, or by silence; nothing
    // would show a lost event.
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
