import type { Hold } from '../../src/index.ts';
import { until } from '../support/until.ts';
import { longestStallMs } from './alarms.ts';

/** How long the news of what a third party did may take: one event, or one connection that ends and the next one that says why. */
const newsMs = { 'znode deleted': 150, 'session ended': 600 };

/** What the clocks of a session leave between its deadline and the server's end of it, less what a timer may be late. */
const toleratedStallMs = 50;

/** Everyone who holds one lock, by one clock: two are never valid at once, and who loses it is told before the next one has it. */
export class Owners {
  readonly #open = new Map<Hold, string>();
  readonly #doneByOthers = new Map<string, keyof typeof newsMs>();
  readonly #complain: (complaint: string) => void;

  constructor(complain: (complaint: string) => void) {
    this.#complain = complain;
  }

  /** To be called in the very turn in which an acquire resolves. */
  granted(who: string, hold: Hold): void {
    const { signal } = hold; // made now, so that it aborts in time
    if (signal.aborted) this.#complain(`${who} was granted ${hold.path}, which was lost already: ${String(signal.reason)}`);
    for (const [other, name] of this.#open) {
      // Asked in this order: looking at isValid may be what notices a loss.
      const wasTold = other.signal.aborted;
      const [isValid, otherIsValid] = [hold.isValid, other.isValid];
      if (wasTold || !isValid) continue;
      const story = `${who} was granted ${hold.path} while ${name} held ${other.path}`;
      const deed = this.#doneByOthers.get(other.path);
      if (deed) void this.#toldOf(deed, other, story);
      else if (otherIsValid) this.#complain(`${story}: both valid`);
      else if (longestStallMs() < toleratedStallMs) this.#complain(`${story}: lost, and not told before`);
    }
    if (!signal.aborted) this.#open.set(hold, who);
  }

  released(hold: Hold): void {
    this.#open.delete(hold);
  }

  /** The one way to lose a lock that nobody can be told of in advance. */
  doneByOthers(deed: keyof typeof newsMs, path: string): void {
    this.#doneByOthers.set(path, deed);
  }

  async #toldOf(deed: keyof typeof newsMs, hold: Hold, story: string): Promise<void> {
    try {
      await until('told', () => hold.signal.aborted || !this.#open.has(hold), newsMs[deed] + longestStallMs());
    } catch {
      this.#complain(`${story} (${deed} by others), and was not told in time`);
    }
  }
}
