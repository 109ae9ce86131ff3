import { relayMs } from '../../src/zookeeper/session/session-clock.ts';
import type { Kind, Moment } from './messages.ts';
import type { Random } from '../../lab/random.ts';

export interface Fault {
  /** The fault strikes this long after the previous one, or at the nth such moment after it. */
  readonly afterMs: number;
  readonly moment: Moment | undefined;
  readonly nth: number;
  readonly kind: FaultKind;
  readonly forMs: number;
}

const faultKinds = [
  'follower-to-leader',
  'leader-to-follower',
  'follower-cut-off',
  'leader-cut-off',
  'leader-unheard',
  'leader-deaf',
  'other-follower-cut-off',
  'leader-stalls',
  'server-stalls',
  'leader-sleeps',
  'follower-leaves',
  'followers-leave',
  'client-unheard',
  'client-deaf',
  'client-stalls',
  'client-moves',
  'client-stranded',
  'slow',
] as const;
const moments = [
  'ponged',
  'submitted',
  'acknowledged',
  'committed',
  'sent',
  'answered-write',
  'answered-sync',
  'connected',
] as const;
const endings = [
  'follower-to-leader',
  'follower-to-leader',
  'leader-to-follower',
  'follower-cut-off',
  'leader-cut-off',
  'leader-unheard',
  'client-unheard',
] as const;
const delays = ['leader-to-follower', 'leader-to-follower', 'leader-sleeps', 'client-stalls', 'client-deaf'] as const;
const anyKinds: readonly [Kinds, ...Kinds[]] = [['write'], ['sync'], ['read'], ['write', 'read', 'sync']];
const raceKinds: readonly [Kinds, ...Kinds[]] = [['write'], ['write', 'sync'], ['write', 'read']];
type Kinds = readonly [Kind, ...Kind[]];
export type FaultKind = (typeof faultKinds)[number];

/**
 * Everything about one history except its random numbers. Durations are in milliseconds of true time, clock rates in
 * milliseconds of the clock per true millisecond.
 */
export interface Scenario {
  readonly tickMs: number;
  /** The value of the client's option. */
  readonly tickTimeMs: number | undefined;
  readonly timeoutMs: number;
  readonly syncLimit: number;
  readonly servers: readonly { readonly rate: number; readonly grantMs: number }[];
  readonly client: {
    readonly rate: number;
    readonly startsAt: number;
    /**
     * The requests that the client sends a sixth of the timeout after the previous answer of this kind. `session` is as
     * in prover.ts while the session is active: a write, and a sync on its answer. `scheduled` is an application: the
     * client becomes quiet between its holds, and attaches anew before a grant.
     */
    readonly heartbeat: 'session' | 'scheduled' | 'write' | 'sync' | 'none';
    readonly silenceMs: number;
    /** The mean time between the application's own requests. */
    readonly pauseMs: number;
    readonly kinds: Kinds;
    /** The share of answers that are followed at once by another request. */
    readonly chain: number;
  };
  /** 0: a session ends as early as ExpiryQueue's rounding can make it. */
  readonly expiryIntervalMs: number;
  /** The longest time that a committing leader may leave between two pings. */
  readonly pingLimitMs: number;
  readonly faults: readonly Fault[];
  readonly endsAt: number;
  /** The number of half ticks until a leader's next turn. */
  readonly pingGap: () => number;
  readonly electionMs: () => number;
  readonly delayMs: () => number;
}

/** A history without faults: the client sends heartbeats, and answers take a few milliseconds. */
export function quietScenario(random: Random, timeoutMs: number): Scenario {
  return {
    tickMs: 2_000,
    tickTimeMs: undefined,
    timeoutMs,
    syncLimit: 5,
    servers: [0, 1, 2].map(() => ({ rate: 1, grantMs: timeoutMs })),
    client: {
      rate: 1,
      startsAt: random.whole(3),
      heartbeat: 'session',
      silenceMs: (timeoutMs * 2) / 3,
      pauseMs: Infinity,
      kinds: ['read'],
      chain: 0,
    },
    expiryIntervalMs: 2_000,
    pingLimitMs: relayMs(timeoutMs, Infinity),
    faults: [],
    endsAt: timeoutMs * 20,
    pingGap: () => 1,
    electionMs: () => 200,
    delayMs: () => random.between(0.1, 0.6),
  };
}

/** A history without faults, in which the client holds a lock now and then. */
export function idleScenario(random: Random, timeoutMs: number, slowestMs: number): Scenario {
  const quiet = quietScenario(random, timeoutMs);
  return {
    ...quiet,
    client: { ...quiet.client, heartbeat: 'scheduled', pauseMs: timeoutMs * random.pick([0.1, 0.5, 1.5]) },
    expiryIntervalMs: 0,
    endsAt: timeoutMs * 40,
    delayMs: () => slowestMs * random.between(0.05, 1),
  };
}

export function drawScenario(random: Random): Scenario {
  const tickMs = 2_000;
  const timeoutMs = tickMs * random.pick([2, 2, 2, 3, 4, 6, 8, 15, random.between(2, 10)]);
  const tickTimeMs = random.chance(0.5) ? tickMs : undefined;
  const relay = relayMs(timeoutMs, tickTimeMs ?? Infinity);
  const drift = random.chance(0.5) ? 0.02 : 0;
  const rate = (): number => 1 + random.between(-drift, drift);
  // If the servers differ, a new leader still starts the session with the timeout that the session was created with. No
  // server grants less than that here, because the leader uses a shorter timeout from the ConnectRequest on, while the
  // client may never get the answer that contains it.
  const startsAt = random.whole(3);
  const isUneven = random.chance(0.2);
  const relayHalfTicks = (2 * relay) / tickMs;
  const pingGap = random.pick([
    () => random.between(0.9, 1.2),
    () => random.between(0.9, 2 * relayHalfTicks),
    () => relayHalfTicks * 0.97,
  ]);
  const laneMs = random.pick([0.5, 2, 5, 20, timeoutMs / 100]);
  const isRace = random.chance(0.6);
  const faults = isRace ? drawRace(random, timeoutMs) : drawFaults(random, timeoutMs);
  return {
    tickMs,
    tickTimeMs,
    timeoutMs,
    syncLimit: random.pick([2, 5]),
    servers: [0, 1, 2].map((id) => ({
      rate: rate(),
      grantMs: isUneven && id !== startsAt ? timeoutMs * 1.4 : timeoutMs,
    })),
    client: {
      rate: rate(),
      startsAt,
      heartbeat: random.pick([
        ...(['session', 'session', 'session', 'session', 'session'] as const),
        ...(['scheduled', 'scheduled', 'scheduled', 'write', 'sync', 'none'] as const),
      ]),
      silenceMs: random.chance(isRace ? 0.2 : 0.5) ? timeoutMs / 4 : (timeoutMs * 2) / 3,
      pauseMs:
        timeoutMs * (isRace ? random.pick([Infinity, 0.3, 0.2, 0.1]) : random.pick([Infinity, 1, 0.3, 0.3, 0.1, 0.03])),
      kinds: random.pick(isRace ? raceKinds : anyKinds),
      chain: random.pick([0, 0, 0.2, 0.6]),
    },
    expiryIntervalMs: random.chance(0.3) ? tickMs : 0,
    // Both clocks matter: the client's relay time, and the leader's time between two pings.
    pingLimitMs: drift > 0 ? relay * 0.95 : relay,
    faults,
    endsAt: faults.reduce((at, { afterMs }) => at + afterMs, timeoutMs * 4),
    pingGap,
    electionMs: () => random.between(0, random.pick([20, 200, 2_000])),
    delayMs: () => laneMs * random.between(0.1, 2),
  };
}

/**
 * A quiet time, then a few faults shortly after each other: a rule breaks when a second fault strikes during the
 * effects of the first.
 */
function drawFaults(random: Random, timeoutMs: number): Fault[] {
  const faults = drawStart(random, timeoutMs);
  let afterMs = random.between(0, timeoutMs);
  const add = (kind: FaultKind, forMs: number): void => {
    faults.push({
      afterMs,
      moment: random.chance(0.6) ? random.pick(moments) : undefined,
      nth: 1 + random.whole(2),
      kind,
      forMs,
    });
  };
  for (let left = 1 + random.whole(4); left > 0; left -= 1) {
    const forMs =
      timeoutMs *
      random.pick([
        random.between(0, 0.35),
        random.between(0, 0.35),
        random.between(0.3, 0.7),
        random.between(0.5, 1.5),
      ]);
    add(random.pick(faultKinds), forMs);
    // Often exactly when the previous fault heals, because then all delayed messages arrive at once.
    const pauseMs = timeoutMs * random.pick([0, random.between(0, 0.05), random.between(0, 0.4), random.between(0, 1)]);
    afterMs = random.chance(0.3) ? forMs * random.between(0.95, 1.02) : pauseMs;
  }
  if (random.chance(0.8)) add(random.pick(endings), timeoutMs * 10);
  return faults;
}

/** A message is late by about the relay time. Just before it arrives, or when it arrives, the follower is cut off. */
function drawRace(random: Random, timeoutMs: number): Fault[] {
  const lateMs = timeoutMs * random.between(0.1, 0.7);
  const once = { nth: 1 + random.whole(2), forMs: lateMs };
  const end = { nth: 1 + random.whole(4), kind: 'follower-to-leader', forMs: timeoutMs * 10 } as const;
  const race: Fault[] = random.chance(0.5)
    ? [
        {
          ...once,
          afterMs: timeoutMs * random.between(0, 0.5),
          moment: random.pick([undefined, 'sent']),
          kind: 'client-unheard',
        },
        {
          ...end,
          afterMs: lateMs * random.between(0.98, 1.08),
          moment: random.pick([undefined, undefined, 'answered-write', 'answered-sync']),
        },
      ]
    : [
        {
          ...once,
          afterMs: timeoutMs * random.between(0, 0.5),
          moment: random.pick([undefined, 'answered-write', 'answered-sync']),
          kind: random.pick(delays),
        },
        {
          ...end,
          afterMs: lateMs * random.between(0.3, 1),
          moment: random.pick([undefined, 'submitted', 'acknowledged']),
        },
      ];
  return [...drawStart(random, timeoutMs), ...race];
}

/** A client that changes to another server proves its session there. Without this, most histories end well. */
function drawStart(random: Random, timeoutMs: number): Fault[] {
  const afterMs = timeoutMs * random.between(0.1, 2);
  return random.chance(0.7)
    ? [{ afterMs, moment: undefined, nth: 1, kind: 'client-stranded', forMs: timeoutMs * 10 }]
    : [];
}
