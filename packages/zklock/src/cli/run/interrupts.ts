import type { Io } from '../io.js';

/** The signals that end a wait, and that a running job gets. */
export const passedOn = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** A signal arrived before the command was started. */
export class Interrupted extends Error {
  readonly signal: NodeJS.Signals;

  constructor(signal: NodeJS.Signals) {
    super(`${signal} arrived`);
    this.signal = signal;
  }
}

/**
 * The signals that this process gets. Before the job runs, the first of them aborts `whileWaiting`. From `passTo` on,
 * all of them go to the job.
 */
export class Interrupts {
  readonly #waiting = new AbortController();
  readonly #stops: (() => void)[];
  #target: ((signal: NodeJS.Signals) => void) | undefined;

  constructor(io: Io) {
    this.#stops = passedOn.map((signal) => io.onSignal(signal, () => this.#arrived(signal)));
  }

  /** Aborts with {@link Interrupted}. */
  get whileWaiting(): AbortSignal {
    return this.#waiting.signal;
  }

  passTo(target: (signal: NodeJS.Signals) => void): void {
    this.#target = target;
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  #arrived(signal: NodeJS.Signals): void {
    if (this.#target) this.#target(signal);
    else this.#waiting.abort(new Interrupted(signal));
  }
}
