import { inNoContext } from '../support/no-context.js';
import type { LockClient } from '../client/lock-client.js';
import type { Grant } from './grant.js';
import type { LockInternals } from './lock-internals.js';
import type { Mode } from './lock-queue.js';
import { Patience } from './patience.js';
import { Turn, type TurnOptions } from './turn.js';

/**
 * A lock that this process keeps until somebody else wants it: who waits here stands in line in memory, and one znode stands for all of them.
 * When others have queued up, those who were in line before the news are served, and the next ones queue up behind the others.
 */
export class StickyLock {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #internals: LockInternals;
  readonly #options: TurnOptions;
  #turn: Turn | undefined;

  constructor(client: LockClient, path: string, internals: LockInternals, options: TurnOptions) {
    this.#client = client;
    this.#path = path;
    this.#internals = internals;
    this.#options = options;
  }

  /** As {@link LockInternals.acquire}. */
  async acquire(patience: Patience, mode: Mode): Promise<Grant | undefined> {
    if (mode === 'once') {
      if (this.#turn === undefined) return this.#tryOnce(patience);
      if (!this.#turn.isOpen || !this.#turn.isIdle) return undefined;
    }
    for (;;) {
      const turn = this.#turn?.isOpen ? this.#turn : this.#newTurn();
      const grant = await patience.wait<Grant | undefined>((wake, fail) => {
        const leave = turn.join({ isPatient: mode === 'wait', served: wake, failed: fail });
        return () => {
          leave();
          if (turn.isUnwanted) this.#abandon.get(turn)?.();
        };
      });
      if (grant === undefined) {
        if (mode === 'once') return undefined;
        continue;
      }
      if (patience.isOver) void grant.end();
      patience.check();
      return grant;
    }
  }

  /** What ends the wait of a turn that nobody stands in line for. */
  readonly #abandon = new WeakMap<Turn, () => void>();

  #newTurn(): Turn {
    const turn = this.#open();
    const aborter = new AbortController();
    const patience = new Patience(this.#client, this.#path, { signal: aborter.signal });
    this.#abandon.set(turn, () => {
      // Before anybody can join it again.
      turn.fail(undefined);
      aborter.abort();
    });
    // It serves others, too, when the caller that began it has long gone.
    inNoContext(() => void this.#begin(turn, patience));
    return turn;
  }

  async #begin(turn: Turn, patience: Patience): Promise<void> {
    try {
      const grant = await this.#internals.acquire(patience, 'wait');
      if (grant) turn.begin(grant);
    } catch (error) {
      turn.fail(error);
    } finally {
      this.#abandon.delete(turn);
      patience.dispose();
    }
  }

  async #tryOnce(patience: Patience): Promise<Grant | undefined> {
    const grant = await this.#internals.acquire(patience, 'once');
    // Somebody else of this process may have begun a turn meanwhile: then this hold is one of its own.
    if (grant === undefined || this.#turn !== undefined) return grant;
    const turn = this.#open();
    return new Promise((resolve, reject) => {
      turn.join({ isPatient: false, served: resolve, failed: reject });
      turn.begin(grant);
    });
  }

  #open(): Turn {
    const turn: Turn = new Turn(this.#options, () => {
      if (this.#turn === turn) this.#turn = undefined;
    });
    this.#turn = turn;
    return turn;
  }
}
