import { until } from '../support/until.ts';
import type { Fault, FrameFact } from './fault.ts';
import type { Stage } from './stage.ts';

const onItsWayMs = 500;

/** What happens on the server meanwhile, by somebody else's hand: right before the frame goes on, or right after it. */
export const serverFaults: readonly Fault[] = [
  ...around('session expired', whereSession, (stage) => stage.expire()),
  ...around('own znode deleted', whereOwnNode(0), async (stage) => remove(stage, await nodeOf(stage, 0, 0))),
  ...around('own znode written, then deleted', whereOwnNode(0), async (stage) => {
    const own = await nodeOf(stage, 0, 0);
    await stage.theatre.outside.touch(own);
    await remove(stage, own);
  }),
  ...around('predecessor deleted', wherePredecessor(0), async (stage) => remove(stage, await nodeOf(stage, 0, 1))),
  ...around('predecessor written', wherePredecessor(0), async (stage) => stage.theatre.outside.touch(await nodeOf(stage, 0, 1))),
];

/** The same of those who take turns to create what is held. */
export const turnFaults: readonly Fault[] = [
  ...around('own turn deleted', whereOwnNode(1), async (stage) => remove(stage, await nodeOf(stage, 1, 0))),
  ...around("predecessor's turn deleted", wherePredecessor(1), async (stage) => remove(stage, await nodeOf(stage, 1, 1))),
];

function around(name: string, excludes: (fact: FrameFact) => string | undefined, act: (stage: Stage) => Promise<void>): Fault[] {
  const isReply = ({ key }: FrameFact): string | undefined => (key.from === 'client' ? 'it comes before the reply' : undefined);
  return [
    { name: `${name} before it`, lastsMs: 0, excludes, strike: (_frame, stage) => ({ delayUntil: stage.freezes(act(stage)) }) },
    {
      name: `${name} after it`,
      lastsMs: 0,
      excludes: (fact) => isReply(fact) ?? excludes(fact),
      strike: (_frame, stage) => {
        void stage.freezes(act(stage));
        return 'pass';
      },
    },
  ];
}

/** The last znode of the client under test in one of the lock's folders, or the one that is so many places before it. */
async function nodeOf(stage: Stage, folder: number, placesBefore: number): Promise<string> {
  let path: string | undefined;
  // Its create is on its way, maybe by one frame.
  await until('there is such a znode', async () => {
    const queue = await stage.queue(stage.kind.folders[folder]);
    const own = queue.findLastIndex(({ isSubjects }) => isSubjects);
    path = own < 0 ? undefined : queue[own - placesBefore]?.path;
    return path !== undefined;
  }, onItsWayMs);
  return path ?? '';
}

async function remove(stage: Stage, path: string): Promise<void> {
  stage.owners.doneByOthers('znode deleted', path);
  await stage.theatre.outside.remove(path);
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
