import type { Hold } from '../../src/index.ts';
import { sleep } from '../../lab/world.ts';
import type { LockKind } from './lock-kinds.ts';

/**
 * How long a holder may take to learn of a third party's act: one event, or one closed connection and the next
 * connection that reports the reason.
 */
const noticeMs = { 'znode deleted': 150, 'session ended': 600 };

export interface OwnersHost {
  warn(warning: string): void;
  /** A hold was granted. */
  follow(hold: Hold): void;
  isStalled(who: string): boolean;
}

/**
 * All holders of one lock, judged by one clock. There are never more valid holds than the lock allows, and a holder
 * that loses the lock is told before the next holder is granted.
 */
export class Owners {
  /** How many owners that exclude each other may hold now. */
  most: number;
  readonly #open = new Map<Hold, string>();
  readonly #doneByOthers = new Map<string, keyof typeof noticeMs>();
  readonly #excludes: LockKind['excludes'];
  readonly #host: OwnersHost;

  constructor({ most, excludes }: LockKind, host: OwnersHost) {
    this.most = most;
    this.#excludes = excludes;
    this.#host = host;
  }

  /** Must be called in the same event-loop turn in which an acquire resolves. */
  granted(who: string, hold: Hold): void {
    const { signal } = hold; // made now, so that it aborts in time
    if (signal.aborted)
      this.#host.warn(`${who} was granted ${hold.path}, which was lost already: ${String(signal.reason)}`);
    // The order matters: reading isValid may be what notices a loss. A server that was told to end a session may have
    // answered before; then the new holder, like a present one, learns of the end later.
    const isEnded = this.#doneByOthers.get(hold.path) === 'session ended';
    const untold = [...this.#open].filter(([other]) => !other.signal.aborted && this.#excludes(hold, other));
    const isTooMany = hold.isValid && untold.length >= this.most;
    if (!signal.aborted) this.#open.set(hold, who);
    this.#host.follow(hold);
    if (isTooMany && isEnded) void this.#expectTold('session ended', hold, `${who} was granted ${hold.path} too late`);
    else if (isTooMany) this.#judge(`${who} was granted ${hold.path}`, untold);
  }

  released(hold: Hold): void {
    this.#open.delete(hold);
  }

  /** The process of this owner is no more. */
  forget(who: string): void {
    for (const [hold, owner] of this.#open) if (owner === who) this.#open.delete(hold);
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
    let areAllAwake = true;
    for (const [hold, name] of untold) {
      const told = `${story} while ${name} held ${hold.path}`;
      const deed = this.#doneByOthers.get(hold.path);
      if (deed) void this.#expectTold(deed, hold, told);
      else byClock.push(`${name} held ${hold.path}`);
      if (!deed && !hold.isValid) areAllValid = false;
      // A process that stands still can be told nothing.
      if (this.#host.isStalled(name)) areAllAwake = false;
    }
    if (byClock.length < this.most) return;
    const rest = `${story} while ${byClock.join(' and ')}`;
    if (areAllValid) this.#host.warn(`${rest}: all valid, and at most ${this.most} may be`);
    else if (areAllAwake) this.#host.warn(`${rest}: lost, and not told before`);
  }

  async #expectTold(deed: keyof typeof noticeMs, hold: Hold, story: string): Promise<void> {
    await sleep(noticeMs[deed]);
    if (!hold.signal.aborted && this.#open.has(hold))
      this.#host.warn(`${story} (${deed} by others), and was not told in time`);
  }
}
