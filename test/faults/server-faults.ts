import { until } from '../support/until.ts';
import type { Fault, FrameFact } from './fault.ts';
import type { Stage } from './stage.ts';

const onItsWayMs = 500;

/** What happens on the server meanwhile, by somebody else's hand: right before the frame goes on, or right after it. */
export const serverFaults: readonly Fault[] = [
  ...around('session expired', whereSession, (stage) => stage.expire()),
  ...around('own znode deleted', whereOwnNode, async (stage) => remove(stage, await nodeOf(stage, 0))),
  ...around('own znode written, then deleted', whereOwnNode, async (stage) => {
    const own = await nodeOf(stage, 0);
    await stage.theatre.outside.touch(own);
    await remove(stage, own);
  }),
  ...around('predecessor deleted', wherePredecessor, async (stage) => remove(stage, await nodeOf(stage, 1))),
  ...around('predecessor written', wherePredecessor, async (stage) => stage.theatre.outside.touch(await nodeOf(stage, 1))),
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

/** The last znode of the client under test, or the one that is so many places before it. */
async function nodeOf(stage: Stage, placesBefore: number): Promise<string> {
  let path: string | undefined;
  // Its create is on its way, maybe by one frame.
  await until('there is such a znode', async () => {
    const queue = await stage.queue();
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

function whereOwnNode({ hasOwnNode }: FrameFact): string | undefined {
  return hasOwnNode ? undefined : 'it has no znode at this time';
}

function wherePredecessor({ hasPredecessor }: FrameFact): string | undefined {
  return hasPredecessor ? undefined : 'nobody is before it at this time';
}
