import type { Random } from '../../lab/random.ts';

/** The events of one session: of its requests, its connections and its process. Times are in milliseconds. */
export interface SessionScript {
  readonly timeoutMs: number;
  readonly tickTimeMs: number | undefined;
  readonly hasZnodes: boolean;
  readonly acts: readonly Act[];
  readonly endsAt: number;
  /** Indexed by the number of the request; Infinity: it is never answered. Each answer waits for the one before it. */
  readonly answerMs: readonly number[];
  /** Indexed by the number of the connection. */
  readonly replies: readonly ConnectReply[];
}

export interface Act {
  readonly at: number;
  readonly does: (typeof deeds)[number];
  readonly forMs: number;
}

export interface ConnectReply {
  readonly afterMs: number;
  readonly is: 'granted' | 'refused' | 'expired';
  readonly timeoutMs: number;
}

const deeds = [
  ...(['lock', 'lock', 'unlock', 'unlock', 'move up', 'stop waiting', 'stop waiting', 'prove', 'attach'] as const),
  ...(['write', 'sync', 'cut', 'stall'] as const),
] as const;

export function drawSessionScript(random: Random): SessionScript {
  const timeoutMs = 240 * random.pick([10, 15, 25, 50, 125]);
  // A grant by half or more of the timeout.
  const grants = [0.5, 0.7, 1, 1, 1, 1, 1, 1, 1.5] as const;
  const rough = random.pick([0, 0.01, 0.03]);
  const acts: Act[] = [];
  // After the first connection: an application has no session before.
  let at = 250;
  for (let left = 5 + random.whole(20); left > 0; left -= 1) {
    at += dyadic(
      random.pick([random.between(0, 150), timeoutMs * random.between(0, 0.5), timeoutMs * random.between(0, 2)]),
    );
    const does = random.pick(deeds);
    const forMs =
      does === 'stall' ? dyadic(timeoutMs * random.pick([random.between(0, 0.4), random.between(0, 1.2)])) : 0;
    acts.push({ at, does, forMs });
    at += forMs;
  }
  return {
    timeoutMs,
    tickTimeMs: random.pick([undefined, timeoutMs / 10, 2_000]),
    hasZnodes: random.chance(0.5),
    acts,
    // Nothing is due at the very end.
    endsAt: at + timeoutMs * 2 + 1 / 2048,
    answerMs: Array.from({ length: 200 }, () =>
      random.chance(rough)
        ? Infinity
        : dyadic(random.chance(0.1) ? timeoutMs * random.between(0, 0.6) : random.between(1, 30)),
    ),
    replies: Array.from({ length: 50 }, (_, index) => ({
      // Below the shortest attempt: the length of an attempt is no part of the model.
      afterMs: dyadic(random.between(1, 200)),
      is: index > 0 && random.chance(0.2) ? random.pick(['refused', 'refused', 'refused', 'expired']) : 'granted',
      timeoutMs: timeoutMs * random.pick(grants),
    })),
  };
}

/** With such times, and timeouts that are multiples of 240 ms, no sum of times is rounded. */
function dyadic(ms: number): number {
  return Math.round(ms * 1024) / 1024;
}
