import type { Hold } from '../../src/index.ts';
import { until } from '../../harness/until.ts';
import { longestStallMs } from './alarms.ts';
import type { Kind } from './kinds.ts';

/**
 * How long the news of what a third party did may take: one event, or one connection that ends and the next one that
 * says why.
 */
const newsMs = { 'znode deleted': 150, 'session ended': 600 };

/**
 * What the clocks of a session leave between its deadline and the server's end of it, less what a timer may be late.
 */
const toleratedStallMs = 50;

/**
 * Everyone who holds one lock, by one clock: no more are ever valid at once than may be in together, and who loses it
 * is told before the next one has
 * it.
 */
export class Owners {
  /** How many of those who exclude each other may be in now. */
  most: number;
  readonly #open = new Map<Hold, string>();
  readonly #doneByOthers = new Map<string, keyof typeof newsMs>();
  readonly #excludes: Kind['excludes'];
  readonly #warn: (warning: string) => void;
  readonly #follow: (hold: Hold) => void;

  constructor({ most, excludes }: Kind, warn: (warning: string) => void, follow: (hold: Hold) => void) {
    this.most = most;
    this.#excludes = excludes;
    this.#warn = warn;
    this.#follow = follow;
  }

  /** To be called in the very turn in which an acquire resolves. */
  granted(who: string, hold: Hold): void {
    const { signal } = hold; // made now, so that it aborts in time
    if (signal.aborted) this.#warn(`${who} was granted ${hold.path}, which was lost already: ${String(signal.reason)}`);
    // Asked in this order: looking at isValid may be what notices a loss.
    // A server that was told to end its session may have answered before: as to one who holds it already, the news
    // comes later.
    const isEnded = this.#doneByOthers.get(hold.path) === 'session ended';
    const untold = [...this.#open].filter(([other]) => !other.signal.aborted && this.#excludes(hold, other));
    const isTooMany = hold.isValid && untold.length >= this.most;
    if (!signal.aborted) this.#open.set(hold, who);
    this.#follow(hold);
    if (isTooMany && isEnded) void this.#toldOf('session ended', hold, `${who} was granted ${hold.path} too late`);
    else if (isTooMany) this.#judge(`${who} was granted ${hold.path}`, untold);
  }

  released(hold: Hold): void {
    this.#open.delete(hold);
  }

  /** The one way to lose a lock that nobody can be told of in advance. */
  doneByOthers(deed: keyof typeof newsMs, path: string): void {
    this.#doneByOthers.set(path, deed);
  }

  /**
   * Those who lost it by others' hands make room, and are told in time; if they do not make enough, the rest is too
   * many.
   */
  #judge(story: string, untold: readonly (readonly [Hold, string])[]): void {
    const byClock: string[] = [];
    let areAllValid = true;
    for (const [hold, name] of untold) {
      const told = `${story} while ${name} held ${hold.path}`;
      const deed = this.#doneByOthers.get(hold.path);
      if (deed) void this.#toldOf(deed, hold, told);
      else byClock.push(`${name} held ${hold.path}`);
      if (!deed && !hold.isValid) areAllValid = false;
    }
    if (byClock.length < this.most) return;
    const rest = `${story} while ${byClock.join(' and ')}`;
    if (areAllValid) this.#warn(`${rest}: all valid, and at most ${this.most} may be`);
    else if (longestStallMs() < toleratedStallMs) this.#warn(`${rest}: lost, and not told before`);
  }

  async #toldOf(deed: keyof typeof newsMs, hold: Hold, story: string): Promise<void> {
    try {
      await until('told', () => hold.signal.aborted || !this.#open.has(hold), newsMs[deed] + longestStallMs());
    } catch {
      this.#warn(`${story} (${deed} by others), and was not told in time`);
    }
  }
}
