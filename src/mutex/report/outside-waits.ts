import type { LockHost } from '../../client/lock-host.js';
import { noLog } from '../../client/options/logger.js';
import type { CancelTimer } from '../../support/clock.js';
import type { Deadline } from '../../support/deadline.js';
import { LineLimit } from '../line-limit.js';
import { warnOf } from '../../support/no-context.js';
import { CallPlaces } from './call-places.js';
import type { Hold } from '../hold.js';

/**
 * Warns when an acquire outside of every lock context, without a timeout and without a signal, has waited for one second
 * for a hold of its own process that no live context owns; once for each such hold. If one flow of code called both, it
 * waits for itself without end. Outside of contexts the library cannot know whether one flow did.
 */
export class OutsideWaits {
  readonly #host: LockHost;
  /** The locks for which acquires wait, and when to look again: the earliest first. */
  readonly #suspicions = new Map<ContendedLock, Suspicion>();
  readonly #warnedOf = new WeakSet<Hold>();
  /** A limit, because a service with long jobs and without contexts would otherwise fill its log. */
  readonly #lines = new LineLimit(10, 60_000);
  #cancelLook: CancelTimer | undefined;

  constructor(host: LockHost) {
    this.#host = host;
    host.sessions.onChange(() => {
      if (host.isClosing) this.#stop();
    });
  }

  /**
   * Notes that an acquire outside of every lock context is in progress. Must be called when it begins, and when another
   * acquire of the same lock has ended.
   */
  look(lock: ContendedLock): void {
    if (this.#suspicions.has(lock) || this.#host.isClosing) return;
    const hold = lock.blockingOutsiders;
    if (hold && !this.#warnedOf.has(hold)) this.#suspect(lock, hold);
  }

  #suspect(lock: ContendedLock, hold: Hold): void {
    this.#suspicions.set(lock, { hold, lookAt: this.#host.clock.now() + suspectAfterMs });
    this.#cancelLook ??= this.#host.clock.after(suspectAfterMs, () => this.#lookAgain());
  }

  #lookAgain(): void {
    this.#cancelLook = undefined;
    const now = this.#host.clock.now();
    for (const [lock, { hold, lookAt }] of this.#suspicions) {
      if (lookAt > now) break;
      this.#suspicions.delete(lock);
      const [oldest] = lock.outsiders;
      if (oldest === undefined) continue;
      // The acquire for which this look was planned may have ended, and a later one may wait now.
      if (lock.blockingOutsiders === hold && now - oldest.startedAt >= suspectAfterMs) this.#warn(lock, hold, oldest);
      else this.look(lock);
    }
    const [next] = this.#suspicions.values();
    if (next) this.#cancelLook ??= this.#host.clock.after(next.lookAt - now, () => this.#lookAgain());
  }

  #warn({ path }: ContendedLock, hold: Hold, oldest: Deadline): void {
    this.#warnedOf.add(hold);
    if (!this.#lines.mayWrite(this.#host.clock.now())) return;
    const text =
      `An acquire() of the lock ${path} has waited for a second for a hold of this process. Both were called outside of every lock context, where ` +
      'each acquire() is an owner of its own: if one flow of code called both, it waits for itself without end. Release the first hold, or use withLock or lockContext.run, inside of which ' +
      `acquire() re-enters. ${this.#places(hold, oldest)}`;
    this.#host.report.warn(text, undefined);
    // Without a logger, nobody might notice. Once for each lock, because the process shows each such warning.
    if (this.#host.options.log !== noLog || shown.has(path) || shown.size >= mostShown) return;
    shown.add(path);
    warnOf(`zookeeper-fair-lock: ${text}`);
  }

  #places(hold: Hold, oldest: Deadline): string {
    if (!this.#host.options.debug)
      return 'With the option debug of LockClient.connect, this warning says where both were called';
    const places = this.#host.companions.of(CallPlaces);
    return `The hold was acquired at ${places.placeOf(hold)}; the acquire() that waits was called at ${places.placeOf(oldest)}`;
  }

  #stop(): void {
    this.#cancelLook?.();
    this.#cancelLook = undefined;
    this.#suspicions.clear();
  }
}

/** A lock for which acquires outside of every lock context may wait. */
interface ContendedLock {
  readonly path: string;
  /** Such acquires in progress that have neither a timeout nor a signal, the oldest first. */
  readonly outsiders: readonly Deadline[];
  /** The hold of this process for which they may wait without end. */
  readonly blockingOutsiders: Hold | undefined;
}

interface Suspicion {
  /** The hold that existed when the wait was noticed. */
  readonly hold: Hold;
  /** Monotonic milliseconds. */
  readonly lookAt: number;
}

const suspectAfterMs = 1_000;

/** The locks that a warning of this process has named. */
const shown = new Set<string>();

const mostShown = 100;
