import type { Hold } from '../../src/index.ts';
import type { RunningTime } from '../../lab/running-time.ts';
import { until } from '../../lab/until.ts';
import { longestStallMs } from './alarms.ts';
import type { Kind } from './kinds.ts';

/**
 * How long a holder may take to learn of a third party's act: one event, or one closed connection and the next
 * connection that reports the reason.
 */
const noticeMs = { 'znode deleted': 150, 'session ended': 600 };
/** Far longer than any notice takes, also on a machine that is held up. */
const longestNoticeMs = 60_000;

/**
 * The time that a session's clocks leave between the client's deadline and the server's expiry, minus what a timer may
 * be late.
 */
const toleratedStallMs = 50;

/**
 * All holders of one lock, judged by one clock. There are never more valid holds than the lock allows, and a holder
 * that loses the lock is told before the next holder is granted.
 */
export class Owners {
  /** How many owners that exclude each other may hold now. */
  most: number;
  readonly #open = new Map<Hold, string>();
  readonly #doneByOthers = new Map<string, keyof typeof noticeMs>();
  readonly #excludes: Kind['excludes'];
  readonly #running: RunningTime;
  readonly #warn: (warning: string) => void;
  readonly #follow: (hold: Hold) => void;

  constructor(
    { most, excludes }: Kind,
    running: RunningTime,
    warn: (warning: string) => void,
    follow: (hold: Hold) => void,
  ) {
    this.most = most;
    this.#excludes = excludes;
    this.#running = running;
    this.#warn = warn;
    this.#follow = follow;
  }

  /** The holds that were granted and not released. */
  get holds(): readonly Hold[] {
    return [...this.#open.keys()];
  }

  /** Must be called in the same event-loop turn in which an acquire resolves. */
  granted(who: string, hold: Hold): void {
    const { signal } = hold; // made now, so that it aborts in time
    if (signal.aborted) this.#warn(`${who} was granted ${hold.path}, which was lost already: ${String(signal.reason)}`);
    // The order matters: reading isValid may be what notices a loss. A server that was told to end a session may have
    // answered before; then the new holder, like a present one, learns of the end later.
    const isEnded = this.#doneByOthers.get(hold.path) === 'session ended';
    const untold = [...this.#open].filter(([other]) => !other.signal.aborted && this.#excludes(hold, other));
    const isTooMany = hold.isValid && untold.length >= this.most;
    if (!signal.aborted) this.#open.set(hold, who);
    this.#follow(hold);
    if (isTooMany && isEnded) void this.#expectTold('session ended', hold, `${who} was granted ${hold.path} too late`);
    else if (isTooMany) this.#judge(`${who} was granted ${hold.path}`, untold);
  }

  released(hold: Hold): void {
    this.#open.delete(hold);
  }

  /** Notes a loss that a third party caused: the only kind of loss that a holder cannot be told before it happens. */
  doneByOthers(deed: keyof typeof noticeMs, path: string): void {
    this.#doneByOthers.set(path, deed);
  }

  /**
   * Holders that lost the lock through a third party make room, and must be told in time. If they do not make enough
   * room, the other holders are too many.
   */
  #judge(story: string, untold: readonly (readonly [Hold, string])[]): void {
    const byClock: string[] = [];
    let areAllValid = true;
    for (const [hold, name] of untold) {
      const told = `${story} while ${name} held ${hold.path}`;
      const deed = this.#doneByOthers.get(hold.path);
      if (deed) void this.#expectTold(deed, hold, told);
      else byClock.push(`${name} held ${hold.path}`);
      if (!deed && !hold.isValid) areAllValid = false;
    }
    if (byClock.length < this.most) return;
    const rest = `${story} while ${byClock.join(' and ')}`;
    if (areAllValid) this.#warn(`${rest}: all valid, and at most ${this.most} may be`);
    else if (longestStallMs() < toleratedStallMs) this.#warn(`${rest}: lost, and not told before`);
  }

  async #expectTold(deed: keyof typeof noticeMs, hold: Hold, story: string): Promise<void> {
    const lateAt = this.#running.ms + noticeMs[deed];
    const isTold = (): boolean => hold.signal.aborted || !this.#open.has(hold);
    await until('told, or late', () => isTold() || this.#running.ms > lateAt, longestNoticeMs).catch(() => undefined);
    if (!isTold()) this.#warn(`${story} (${deed} by others), and was not told in time`);
  }
}
