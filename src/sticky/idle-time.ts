import type { CancelTimer, Clock } from '../support/clock.js';
import type { IdleFlag } from './idle-flag.js';

/**
 * The time since a sticky lock was used last. The flag of the znode shows it after a moment, and the lock is given up
 * after `idleMs`. One timer serves all the short idle times between holders: it keeps running while the lock is held.
 */
export class IdleTime {
  readonly flag: IdleFlag;
  readonly #options: IdleOptions;
  readonly #tooLong: () => void;
  #since: number | undefined;
  #stopTimer: CancelTimer | undefined;

  /** @param tooLong called when the lock was idle for `idleMs` */
  constructor(flag: IdleFlag, options: IdleOptions, tooLong: () => void) {
    this.flag = flag;
    this.#options = options;
    this.#tooLong = tooLong;
  }

  get isOn(): boolean {
    return this.#since !== undefined;
  }

  begin(): void {
    const { clock, idleMs } = this.#options;
    this.#since ??= clock.now();
    this.#stopTimer ??= this.#timer(Math.min(idleBeforeFlagMs, idleMs));
  }

  /** The lock is used again. */
  stop(): void {
    this.#since = undefined;
    if (!this.flag.isUp) return;
    this.flag.show('busy');
    this.#stopTimer?.();
    this.#stopTimer = undefined;
  }

  /** The lock is given up. */
  end(): void {
    this.flag.end();
    this.#since = undefined;
    this.#stopTimer?.();
  }

  #timer(delayMs: number): CancelTimer {
    return this.#options.clock.after(delayMs, () => {
      this.#stopTimer = undefined;
      this.#look();
    });
  }

  #look(): void {
    if (this.#since === undefined) return;
    const { clock, idleMs } = this.#options;
    const idleForMs = clock.now() - this.#since;
    if (idleForMs >= idleMs) {
      this.#tooLong();
      return;
    }
    if (idleForMs >= idleBeforeFlagMs) this.flag.show('idle');
    this.#stopTimer = this.#timer(Math.min(idleMs, this.flag.isUp ? Infinity : idleBeforeFlagMs) - idleForMs);
  }
}

interface IdleOptions {
  readonly clock: Clock;
  /** The lock is given up after this time, in milliseconds. */
  readonly idleMs: number;
}

const idleBeforeFlagMs = 20;
