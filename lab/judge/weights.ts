import { znodeOf } from './history.ts';
import { grouped, type Granted, type History } from './folded-history.ts';
import { nameOf } from './owner.ts';
import type { Violation } from './violation.ts';

/** A waiter that came later was granted before one that waited. */
export interface Overtake {
  readonly waiter: Place;
  readonly by: Place;
  /** How many waiters had overtaken it before. */
  readonly timesBefore: number;
  /** How many waiters of this weight may overtake it. */
  readonly allowed: number;
}

/** The parts of a znode's name that concern its place in the queue. */
interface Place {
  readonly grant: Granted;
  readonly weight: number;
  readonly overtakesPerWeight: number;
  /** Grows in the order in which the servers created the znodes. */
  readonly sequence: number;
}

/**
 * A znode that does not have the weight that the call asked for. Also a znode that was overtaken by one that is no
 * heavier, or that was overtaken once more than its name allows for the difference.
 *
 * Names and tokens contain all that is needed, and no fault excuses a violation. The znode of a path with weights
 * exists for the whole run, so the smaller sequence number was created first. If the older znode was granted later, it
 * waited all the time, because a lost znode does not come back, and the next one stands at the back. An owner that
 * claimed the lock and died before its code learned of the grant has also overtaken others, but the history does not
 * contain it. So there may be more overtakes than this check counts, never fewer.
 */
export function weights(history: History): Violation[] {
  const unnamed = waiters(history)
    .filter((grant) => placeOf(grant)?.weight !== grant.weight)
    .map(tellWeight);
  return [...unnamed, ...overtakes(history).filter(isTooMuch).map(tellOvertake)];
}

export function overtakes(history: History): Overtake[] {
  return [...grouped(waiters(history), ({ path }) => path).values()].flatMap(onPath);
}

/** One acquire per znode, because a re-entry does not wait. */
function waiters({ grants }: History): Granted[] {
  return [...grouped([...grants.values()].flat(), ({ granted }) => granted.hold).values()].flatMap(
    ([first]) => first ?? [],
  );
}

function onPath(grants: readonly Granted[]): Overtake[] {
  const served = grants
    .flatMap((grant) => placeOf(grant) ?? [])
    .sort((a, b) => (a.grant.granted.token < b.grant.granted.token ? -1 : 1));
  const leastToCome = served.map(({ sequence }) => sequence);
  for (let index = served.length - 2; index >= 0; index -= 1)
    leastToCome[index] = Math.min(leastToCome[index] ?? 0, leastToCome[index + 1] ?? 0);
  let earlier: Place[] = [];
  return served.flatMap((waiter, index) => {
    earlier = earlier.filter(({ sequence }) => sequence > (leastToCome[index] ?? 0));
    const overtakers = earlier.filter(({ sequence }) => sequence > waiter.sequence);
    earlier.push(waiter);
    return overtakers.map((by, timesBefore) => ({
      waiter,
      by,
      timesBefore,
      allowed: waiter.overtakesPerWeight * (by.weight - waiter.weight),
    }));
  });
}

function isTooMuch({ timesBefore, allowed }: Overtake): boolean {
  return timesBefore >= allowed;
}

function placeOf(grant: Granted): Place | undefined {
  const [, weight, overtakesPerWeight, sequence] =
    /-lock-\+(\d\d)x(\d\d)-(\d{10})$/.exec(znodeOf(grant.granted.hold)) ?? [];
  if (weight === undefined) return undefined;
  return { grant, weight: Number(weight), overtakesPerWeight: Number(overtakesPerWeight), sequence: Number(sequence) };
}

function tellWeight(grant: Granted): Violation {
  const text = `${nameOf(grant)} asked for ${grant.weight === undefined ? 'no weight' : `weight ${grant.weight}`} and was granted ${grant.granted.hold}`;
  return { check: 'weights', t: grant.granted.t, text, ids: [grant.id] };
}

function tellOvertake({ waiter, by, timesBefore }: Overtake): Violation {
  const limit = `${waiter.overtakesPerWeight} times for each step`;
  const text = `${nameOf(by.grant)} of weight ${by.weight} overtook ${nameOf(waiter.grant)} of weight ${waiter.weight}, which may be overtaken ${limit} and had already been overtaken ${timesBefore} times`;
  return { check: 'weights', t: by.grant.granted.t, text, ids: [waiter.grant.id, by.grant.id] };
}
