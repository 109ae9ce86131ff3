import type { VirtualTime } from './virtual-time.ts';

/** The time of day when virtual time begins: 14 November 2023. */
export const startWallMs = 1_700_000_000_000;

/** Milliseconds since 1970, on virtual time. */
export function wallClock(time: VirtualTime): () => number {
  return () => startWallMs + Math.floor(time.now());
}

/** `Date`, whose present is virtual. */
export function virtualDate(now: () => number): DateConstructor {
  const Real = globalThis.Date;
  class Date extends Real {
    constructor(...args: unknown[]) {
      super(...((args.length === 0 ? [now()] : args) as [number]));
    }

    static override now(): number {
      return now();
    }
  }
  return Date as unknown as DateConstructor;
}

/** `AbortSignal.timeout`, on virtual time. */
export function abortAfter(delayMs: number): AbortSignal {
  const aborter = new AbortController();
  const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
  setTimeout(() => aborter.abort(reason), delayMs).unref();
  return aborter.signal;
}
