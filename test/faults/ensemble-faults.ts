import type { Ensemble } from '../../lab/ensemble/ensemble.ts';
import { sleep } from '../../lab/world.ts';
import { sessionTimeoutMs, type CaseRun } from './case-run.ts';
import { never, type Fault } from './fault.ts';

type Strike = (ensemble: Ensemble, member: number) => () => void;

const strikes: readonly (readonly [string, readonly number[], Strike])[] = [
  ['crashes', [0, 1, 2], (ensemble, member) => (ensemble.crash(member), () => ensemble.restart(member))],
  ['is cut off', [0, 1, 2], (ensemble, member) => (ensemble.cut(member), () => ensemble.heal(member))],
  [
    'is deposed',
    [2],
    (ensemble) => {
      const deposed = ensemble.depose();
      return () => deposed !== undefined && ensemble.heal(deposed);
    },
  ],
];

/** Faults of the members of an ensemble: shorter than a session lasts, and longer. Member 2 leads at first. */
export const ensembleFaults: readonly Fault[] = [0.4, 2].flatMap((timeouts) =>
  strikes.flatMap(([what, members, strike]) =>
    members.map((member): Fault => ({
      name: `server ${member} ${what} for ${timeouts} session timeouts`,
      lastsMs: timeouts * sessionTimeoutMs,
      excludes: never,
      strike: (_frame, run) => {
        void run.heals(during(run, timeouts * sessionTimeoutMs, member, strike));
        return 'pass';
      },
    })),
  ),
);

async function during({ servers }: CaseRun, ms: number, member: number, strike: Strike): Promise<void> {
  if (!servers.ensemble) throw new Error('One server is no ensemble');
  const heal = strike(servers.ensemble, member);
  await sleep(ms);
  heal();
}
