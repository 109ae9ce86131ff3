import { until } from '../../lab/until.ts';
import type { Fault, FrameFact } from './fault.ts';
import type { CaseRun } from './case-run.ts';

const onItsWayMs = 500;

/** Changes on the server by another client: right before the frame goes on, or right after it. */
export const serverFaults: readonly Fault[] = [
  ...around('session expired', whereSession, (run) => run.expire()),
  ...around('own znode deleted', whereOwnNode(0), async (run) => remove(run, await nodeOf(run, 0, 0))),
  ...around('own znode written, then deleted', whereOwnNode(0), async (run) => {
    const own = await nodeOf(run, 0, 0);
    await run.fixture.observer.touch(own);
    await remove(run, own);
  }),
  ...around('predecessor deleted', wherePredecessor(0), async (run) => remove(run, await nodeOf(run, 0, 1))),
  ...around('predecessor written', wherePredecessor(0), async (run) =>
    run.fixture.observer.touch(await nodeOf(run, 0, 1)),
  ),
];

/** The same for the turns to create the znodes that are held. */
export const turnFaults: readonly Fault[] = [
  ...around('own turn deleted', whereOwnNode(1), async (run) => remove(run, await nodeOf(run, 1, 0))),
  ...around("predecessor's turn deleted", wherePredecessor(1), async (run) => remove(run, await nodeOf(run, 1, 1))),
];

function around(
  name: string,
  excludes: (fact: FrameFact) => string | undefined,
  act: (run: CaseRun) => Promise<void>,
): Fault[] {
  const isReply = ({ key }: FrameFact): string | undefined =>
    key.from === 'client' ? 'it comes before the reply' : undefined;
  return [
    {
      name: `${name} before it`,
      lastsMs: 0,
      excludes,
      strike: (_frame, run) => ({ delayUntil: run.freezes(act(run)) }),
    },
    {
      name: `${name} after it`,
      lastsMs: 0,
      excludes: (fact) => isReply(fact) ?? excludes(fact),
      strike: (_frame, run) => {
        void run.freezes(act(run));
        return 'pass';
      },
    },
  ];
}

/**
 * The last znode of the client under test in one of the lock's folders, or the znode that is `placesBefore` places
 * before it.
 */
async function nodeOf(run: CaseRun, folder: number, placesBefore: number): Promise<string> {
  let path: string | undefined;
  // Its create may still be in flight, by one frame.
  await until(
    'there is such a znode',
    async () => {
      const queue = await run.queue(run.kind.folders[folder]);
      const own = queue.findLastIndex(({ isSubjects }) => isSubjects);
      path = own < 0 ? undefined : queue[own - placesBefore]?.path;
      return path !== undefined;
    },
    onItsWayMs,
  );
  return path ?? '';
}

async function remove(run: CaseRun, path: string): Promise<void> {
  run.owners.doneByOthers('znode deleted', path);
  await run.fixture.observer.remove(path);
}

function whereSession({ hasSession }: FrameFact): string | undefined {
  return hasSession ? undefined : 'nobody knows the session before connect() has resolved';
}

function whereOwnNode(folder: number): Fault['excludes'] {
  return ({ places }) => (places[folder]?.hasOwnNode ? undefined : 'it has no znode at this time');
}

function wherePredecessor(folder: number): Fault['excludes'] {
  return ({ places }) => (places[folder]?.hasPredecessor ? undefined : 'nobody is before it at this time');
}
