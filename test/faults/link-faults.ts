import { sleep } from '../../lab/world.ts';
import type { CaseRun } from './case-run.ts';
import { sessionTimeoutMs } from './case-run.ts';
import { longMs, never, shortMs, type Fault } from './fault.ts';

/** The faults of a network. */
export const linkFaults: readonly Fault[] = [
  { name: 'cut before it', lastsMs: 0, excludes: never, strike: () => 'cut' },
  { name: 'cut inside it', lastsMs: 0, excludes: never, strike: () => 'cut-inside' },
  { name: 'cut after it', lastsMs: 0, excludes: never, strike: () => 'cut-after' },
  {
    name: 'dropped',
    lastsMs: 0,
    // TCP never loses a frame and goes on. A lost request or reply shows by the next reply, or by silence; a lost event
    // would not show at all.
    excludes: ({ key }) => (key.op === 'watch' ? 'no connection loses an event and goes on' : undefined),
    strike: () => 'drop',
  },
  delayed('delayed for a third of the session timeout', sessionTimeoutMs / 3),
  delayed('delayed past the deadline', longMs),
  {
    name: 'answers late for a session timeout',
    lastsMs: sessionTimeoutMs,
    excludes: never,
    strike: ({ connection }, run) => {
      run.wire.holdAnswers(connection, run.heals(sleep(sessionTimeoutMs)));
      return 'pass';
    },
  },
  silence('a short silence', shortMs),
  silence('silence past the deadline', longMs),
];

function delayed(name: string, lastsMs: number): Fault {
  return {
    name,
    lastsMs,
    excludes: never,
    strike: (_frame, run) => ({ delayUntil: run.heals(sleep(lastsMs)) }),
  };
}

function silence(name: string, lastsMs: number): Fault {
  return {
    name,
    lastsMs,
    excludes: never,
    strike: (_frame, run) => {
      run.wire.proxy.silence();
      void run.heals(speakLater(run, lastsMs));
      return 'hold';
    },
  };
}

async function speakLater(run: CaseRun, afterMs: number): Promise<void> {
  await sleep(afterMs);
  run.wire.proxy.speak();
}
