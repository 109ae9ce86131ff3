const events = ['unhandledRejection', 'uncaughtExceptionMonitor', 'warning'] as const;
const beatMs = 20;
const memoryMs = 2_000;

/** Failures that no promise reports: process events, whichever case caused them. */
export class Alarms {
  readonly heard: string[] = [];
  readonly #running = new Set<string>();
  readonly #listeners = events.map((event) => {
    const listener = (what: unknown): void => this.#hear(event, what);
    process.on(event, listener);
    return () => process.off(event, listener);
  });
  readonly #stopBeat = startBeat();

  /** @returns a function that removes the case from the cases that may have caused the next alarm */
  during(name: string): () => void {
    this.#running.add(name);
    return () => void this.#running.delete(name);
  }

  stop(): void {
    for (const stop of this.#listeners) stop();
    this.#stopBeat();
  }

  #hear(event: string, what: unknown): void {
    const text = what instanceof Error ? (what.stack ?? what.message) : String(what);
    this.heard.push(`${event}: ${text}\nwhile these cases ran:\n  ${[...this.#running].join('\n  ')}`);
  }
}

interface Stall {
  readonly at: number;
  readonly ms: number;
}

let stalls: Stall[] = [];
let lastBeatAt = performance.now();

/** The sum of the stalls of the event loop that ended after `at`: a timer may be late by several of them. */
export function stalledSinceMs(at: number): number {
  const past = stalls.filter((stall) => stall.at > at).map(({ ms }) => ms);
  return [...past, presentStallMs(performance.now())].reduce((a, b) => a + b, 0);
}

/** The longest recent stall of the event loop. While the loop stands still, no signal can abort. */
export function longestStallMs(): number {
  const now = performance.now();
  const recent = stalls.filter(({ at }) => at > now - memoryMs).map(({ ms }) => ms);
  return Math.max(presentStallMs(now), ...recent);
}

function presentStallMs(now: number): number {
  return Math.max(now - lastBeatAt - beatMs, 0);
}

function startBeat(): () => void {
  lastBeatAt = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const ms = now - lastBeatAt - beatMs;
    lastBeatAt = now;
    if (ms <= beatMs) return;
    stalls = [...stalls.filter(({ at }) => at > now - memoryMs), { at: now, ms }];
  }, beatMs);
  return () => clearInterval(timer);
}
