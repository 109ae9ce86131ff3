import type { Random } from '../lab/random.ts';
import type { Mood } from './mood.ts';
import { roleInMultiLock } from './owner.ts';
import type { Burst, Call, Fault, Step } from './plan.ts';

/**
 * The end of some plans: when all faults are over, a client takes a lock, and long afterwards one small thing happens
 * beside the hold, which must not cost it.
 *
 * @param from when all faults are over
 */
export function drawCoda(random: Random, mood: Mood, from: number): Step[] {
  const { sessionTimeoutMs, locks } = mood;
  const client = random.whole(mood.clients);
  const lock = random.whole(locks.length);
  const holdMs = 3 * sessionTimeoutMs;
  const role = roleInMultiLock(locks[lock] as Mood['locks'][number]);
  const call: Call = { do: 'call', client, lock, how: 'plain', role, holdMs };
  const at = from + sessionTimeoutMs * random.between(1.6, 1.9);
  return [
    // A new connection does not know the pace of the old one, which may have been far faster than that of the burst.
    { at: from, do: 'reset', client, loses: 'nothing' },
    { at: from, ...call },
    { at, ...(random.chance(0.5) ? drawBurst(random, mood, client) : drawFault(random, client)) },
    ...(random.chance(0.3)
      ? [{ at: at + sessionTimeoutMs * random.between(0, 0.2), ...drawFault(random, client) }]
      : []),
  ];
}

function drawFault(random: Random, client: number): Fault {
  return random.chance(0.5)
    ? { do: 'reset', client, loses: random.pick(['both', 'answers', 'nothing']) }
    : { do: 'throttle', client, requests: 1 + random.whole(3) };
}

/** No loss is judged meanwhile. Each call must settle, also if a fault follows. */
function drawBurst(random: Random, { sessionTimeoutMs }: Mood, client: number): Burst {
  const locks = 200 + random.whole(200);
  const tookMs = sessionTimeoutMs * random.between(0.4, 0.8);
  return { do: 'burst', client, locks, bytesPerSecond: Math.round((1_000 * locks * bytesOfAnswers) / tookMs) };
}

/** The answers to one acquire of a burst and its release. */
const bytesOfAnswers = 800;
