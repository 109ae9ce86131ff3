import type { ServerEnd } from './servers.ts';

/** The server's end of a link. */
export class AcceptedEnd implements ServerEnd {
  readonly #link: ClientEnd;
  #data: ((chunk: Buffer) => void) | undefined;
  #close: (() => void) | undefined;
  #isOver = false;

  constructor(link: ClientEnd) {
    this.#link = link;
  }

  write(chunk: Buffer): void {
    if (!this.#isOver) this.#link.answer(chunk);
  }

  destroy(): void {
    if (this.#isOver) return;
    this.#link.serverEnds();
    this.ended();
  }

  onData(listener: (chunk: Buffer) => void): void {
    this.#data = listener;
  }

  onClose(listener: () => void): void {
    this.#close = listener;
  }

  receive(chunk: Buffer): void {
    if (!this.#isOver) this.#data?.(chunk);
  }

  ended(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#close?.();
  }
}

/** The client's end of the same link. */
interface ClientEnd {
  answer(chunk: Buffer): void;
  serverEnds(): void;
}
