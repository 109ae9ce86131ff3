import { openSync, writeSync } from 'node:fs';
import { now, type ClientEvent, type OwnerEvent } from '../../lab/judge/history.ts';

type Untimed<T> = T extends { readonly client: string } ? Omit<T, 'client'> : never;

/** `t` is read before `isValid`, because the process may be stopped between the two. */
export type RecordOwner = (event: OwnerEvent, t?: number) => void;

/** Writes each event at once, so that nothing is missing when the process is killed. */
export class Recorder {
  readonly #client: string;
  readonly #file: number;

  constructor(client: string, file: string) {
    this.#client = client;
    this.#file = openSync(file, 'a');
  }

  record(event: Untimed<ClientEvent>, t = now()): void {
    writeSync(this.#file, `${JSON.stringify({ t, client: this.#client, ...event })}\n`);
  }

  /** Records the events of one acquire. */
  of(id: string): RecordOwner {
    return (event, t) => this.record({ id, ...event }, t);
  }
}
