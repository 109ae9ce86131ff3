import { Random } from '../../../lab/random.ts';
import { Ensemble } from '../../../lab/ensemble/ensemble.ts';
import { machineClock } from '../../../packages/testing/src/server/test-clock.ts';

/** A simulated ensemble on the machine's time. */
export class EnsembleOnTime implements Disposable {
  readonly ensemble: Ensemble;
  readonly #timers = new Set<() => void>();

  constructor(members: number) {
    const random = new Random(1, 0);
    this.ensemble = new Ensemble({
      clock: { now: () => machineClock.now(), after: (delayMs, run) => this.#after(delayMs, run) },
      random: () => random.next(),
      members,
      tickTimeMs: 2_000,
      delayMs: 0,
      extendedTypesEnabled: true,
      containerCheckIntervalMs: 86_400_000,
    });
  }

  [Symbol.dispose](): void {
    for (const cancel of [...this.#timers]) cancel();
  }

  #after(delayMs: number, run: () => void): () => void {
    const cancel = (): void => {
      this.#timers.delete(cancel);
      stop();
    };
    const stop = machineClock.after(delayMs, () => {
      this.#timers.delete(cancel);
      run();
    });
    this.#timers.add(cancel);
    return cancel;
  }
}
