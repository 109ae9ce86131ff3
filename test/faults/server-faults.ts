import { sleep } from '../../lab/world.ts';
import type { Fault, FrameFact, Neighbour } from './fault.ts';
import { later, type CaseRun } from './case-run.ts';

/** Changes on the server by another client: right before the frame goes on, or when it has arrived. */
export const serverFaults: readonly Fault[] = [
  ...around('session expired', whereSession, (run) => run.expire()),
  ...aroundZnode('own znode deleted', 0, 'own', remove),
  ...aroundZnode('own znode written, then deleted', 0, 'own', (run, path) => {
    run.servers.write(path, Buffer.alloc(0));
    remove(run, path);
  }),
  ...aroundZnode('predecessor deleted', 0, 'predecessor', remove),
  ...aroundZnode('predecessor written', 0, 'predecessor', (run, path) => run.servers.write(path, Buffer.alloc(0))),
  ...aroundZnode('follower deleted', 0, 'follower', remove),
];

/** The same for the turns to create the znodes that are held. */
export const turnFaults: readonly Fault[] = [
  ...aroundZnode('own turn deleted', 1, 'own', remove),
  ...aroundZnode("predecessor's turn deleted", 1, 'predecessor', remove),
];

function aroundZnode(
  name: string,
  folder: number,
  which: Neighbour,
  act: (run: CaseRun, path: string) => void,
): Fault[] {
  const excludes = ({ places, placesAfter }: FrameFact, isAfter: boolean): string | undefined =>
    (isAfter ? placesAfter : places)[folder]?.[which] ? undefined : `there is no such znode: ${which}`;
  return around(name, excludes, (run) => {
    const path = run.znode(run.kind.folders[folder], which);
    // An earlier fault of the case may have deleted it.
    if (path !== undefined) act(run, path);
  });
}

function around(
  name: string,
  excludes: (fact: FrameFact, isAfter: boolean) => string | undefined,
  act: (run: CaseRun) => void,
): Fault[] {
  return [
    {
      name: `${name} before it`,
      lastsMs: 0,
      excludes: (fact) => excludes(fact, false),
      strike: (_frame, run) => {
        act(run);
        // The event of the server comes right behind the frame.
        return { delayUntil: sleep(1) };
      },
    },
    {
      name: `${name} after it`,
      lastsMs: 0,
      excludes: (fact) => (fact.key.from === 'client' ? 'it comes before the reply' : excludes(fact, true)),
      strike: (_frame, run) => {
        later(() => act(run));
        return 'pass';
      },
    },
  ];
}

function remove(run: CaseRun, path: string): void {
  run.owners.doneByOthers('znode deleted', path);
  run.servers.remove(path);
}

function whereSession({ hasSession }: FrameFact): string | undefined {
  return hasSession ? undefined : 'there is no session yet';
}
