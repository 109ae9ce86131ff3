import { now, type HistoryEvent } from '../lab/judge/history.ts';

const beatMs = 50;
/** A client gives a server up that is silent for about 1.5 s, so a shorter time ends no session. */
const longMs = 1_000;

/**
 * Records each long time for which the machine held this process up, as a fault. Such a machine also holds up the
 * clients and the servers, and it ends sessions of four seconds although nothing is wrong with the locks.
 */
export class HoldUps implements Disposable {
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(clients: readonly string[], record: (event: HistoryEvent) => void) {
    let count = 0;
    let beatAt = now();
    this.#timer = setInterval(() => {
      const since = beatAt;
      beatAt = now();
      if (beatAt - since < longMs) return;
      count += 1;
      const fault = `m${count}`;
      const kind = { kind: 'busy-machine', target: 'all', clients, isStopped: false };
      record({ t: since, type: 'fault', fault, ...kind });
      record({ t: beatAt, type: 'healed', fault });
    }, beatMs);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
