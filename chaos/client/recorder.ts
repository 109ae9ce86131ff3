import { openSync, writeSync } from 'node:fs';
import { now, type ClientEvent, type OwnerEvent } from '../history.ts';

type Untimed<T> = T extends { readonly client: string } ? Omit<T, 'client'> : never;

/** `t`: taken before a look at `isValid`, because the process may be stopped between the two. */
export type RecordOwner = (event: OwnerEvent, t?: number) => void;

/** Writes at once what happened: a process that is killed has told it all. */
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

  /** Of one acquire. */
  of(id: string): RecordOwner {
    return (event, t) => this.record({ id, ...event }, t);
  }
}
