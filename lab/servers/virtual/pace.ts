import type { Writable } from 'node:stream';
import { FrameSplitter } from '../../wire/record.ts';

/** Passes the frames of a server on, in their order, so many a second at most. Idle time is not made up for. */
export class Pace {
  readonly #client: Writable;
  readonly #everyMs: number;
  readonly #splitter = new FrameSplitter();
  #waiting: Buffer[] = [];
  #passed = 0;
  #dueAt = 0;
  #isTimed = false;

  constructor(client: Writable, answersPerSecond: number) {
    this.#client = client;
    this.#everyMs = 1_000 / answersPerSecond;
  }

  answer(chunk: Buffer): void {
    this.#waiting.push(...this.#splitter.push(chunk));
    if (!this.#isTimed) this.#pass();
  }

  #pass(): void {
    const now = performance.now();
    if (!this.#isTimed) this.#dueAt = Math.max(this.#dueAt, now - this.#everyMs);
    const frames: Buffer[] = [];
    for (; this.#passed < this.#waiting.length && this.#dueAt <= now; this.#dueAt += this.#everyMs) {
      frames.push(this.#waiting[this.#passed] as Buffer);
      this.#passed += 1;
    }
    if (frames.length > 0 && !this.#client.destroyed) this.#client.write(Buffer.concat(frames));
    this.#isTimed = this.#passed < this.#waiting.length && !this.#client.destroyed;
    if (this.#isTimed) {
      setTimeout(() => this.#pass(), Math.max(timerMs, this.#dueAt - now));
      return;
    }
    this.#waiting = [];
    this.#passed = 0;
  }
}

/** One timer for several frames. */
const timerMs = 5;
