import { Random } from '../lab/random.ts';
import { clientsOf, type Move, type Plan, type Step } from './plan.ts';

/**
 * Every fourth plan gets moves of the servers: the list that the applications return changes, and mostly the members
 * that it lacks can be reached no more. The other steps of the seed stay the same.
 */
export function withMoves(plan: Plan): Plan {
  const random = new Random(plan.seed, 7);
  const last = plan.steps.at(-1)?.at ?? 0;
  if (!random.chance(0.25)) return plan;
  const moves = Array.from({ length: 2 + random.whole(5) }, () => drawMove(random, plan, random.between(0, last)));
  if (random.chance(0.5)) moves.push(drawRename(random, plan, random.between(0, last)));
  return { ...plan, steps: [...plan.steps, ...moves.flat()].sort((a, b) => a.at - b.at) };
}

/** Mostly, some connections break: a client that keeps its connection asks for no list. */
function drawRename(random: Random, { processes }: Plan, at: number): Step[] {
  const clients = clientsOf(processes);
  const resets = Array.from({ length: random.whole(clients + 1) }, (): Step => {
    return { at: at + random.between(0, 100), do: 'reset', client: random.whole(clients), loses: 'nothing' };
  });
  return [{ at, do: 'rename', lookupMs: random.pick([1, 20]) }, ...resets];
}

function drawMove(random: Random, { members, processes, sessionTimeoutMs }: Plan, at: number): Step[] {
  const first = random.whole(members);
  const all = Array.from({ length: members }, (_, index) => (first + index) % members);
  const forMs = Math.round(sessionTimeoutMs * random.between(0.3, 3));
  const left = all.slice(0, 1 + random.whole(members));
  const areNames = random.chance(0.5);
  const move: Move = {
    do: 'move',
    to: random.chance(0.25)
      ? random.pick(['empty', 'throws'])
      : left.map((member) => ({ member, ...(areNames && { lookupMs: random.pick([1, 20, 400, 3_000]) }) })),
    afterMs: random.pick([0, 0, 30, 1_500, 12_000]),
    forMs,
  };
  if (random.chance(0.3)) return [{ at, ...move }];
  const gone = random.chance(0.7) ? all.slice(left.length) : all;
  const ends = processes.flatMap((_, process) =>
    gone.map((member): Step => ({
      at: at + random.between(0, 50),
      do: 'block',
      process,
      member,
      how: random.pick(['refuses', 'swallows']),
      isForNew: false,
      forMs: gone === all ? Math.round(forMs / 2) : forMs,
    })),
  );
  return [{ at, ...move }, ...ends];
}
