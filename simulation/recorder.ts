import type { HistoryEvent, NemesisEvent, OwnerEvent } from '../lab/judge/history.ts';

/** The events of a run in the format of chaos, so that they can be drawn in the same way. */
export class Recorder {
  readonly events: HistoryEvent[] = [];
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  owner(client: string, id: string, event: OwnerEvent): void {
    this.events.push({ t: this.#now(), client, id, ...event });
  }

  fault(event: NemesisEvent): void {
    this.events.push({ t: this.#now(), ...event });
  }

  started(client: string, incarnation: number): void {
    this.events.push({ t: this.#now(), client, type: 'started', incarnation });
  }

  state(client: string, state: string): void {
    this.events.push({ t: this.#now(), client, type: 'state', state });
  }

  left(client: string): void {
    this.events.push({ t: this.#now(), client, type: 'left' });
  }
}
