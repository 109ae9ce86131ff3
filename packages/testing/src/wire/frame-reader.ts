/**
 * Cuts a stream of bytes into frames. At the start of a connection, a four-letter word may stand in place of the first
 * frame's length.
 */
export class FrameReader {
  readonly #maxBytes: number;
  readonly #words: ReadonlySet<string>;
  #unread: Buffer = Buffer.alloc(0);
  #at: 'start' | 'frames' | 'end' = 'start';

  constructor(maxBytes: number, words: ReadonlySet<string>) {
    this.#maxBytes = maxBytes;
    this.#words = words;
  }

  push(chunk: Buffer): void {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
  }

  /** Returns the next frame that has arrived completely. */
  next(): Incoming | undefined {
    if (this.#at === 'end' || this.#unread.length < 4) return undefined;
    if (this.#at === 'start') {
      const word = this.#unread.toString('latin1', 0, 4);
      if (this.#words.has(word)) return this.#end({ is: 'word', word });
    }
    const length = this.#unread.readInt32BE(0);
    if (length < 0 || length > this.#maxBytes) return this.#end({ is: 'malformed' });
    if (this.#unread.length < 4 + length) return undefined;
    const body = this.#unread.subarray(4, 4 + length);
    this.#unread = this.#unread.subarray(4 + length);
    this.#at = 'frames';
    return { is: 'frame', body };
  }

  #end(last: Incoming): Incoming {
    this.#at = 'end';
    this.#unread = Buffer.alloc(0);
    return last;
  }
}

/** One unit of a connection's input. `malformed` ends the connection. */
export type Incoming =
  | { readonly is: 'frame'; readonly body: Buffer }
  | { readonly is: 'word'; readonly word: string }
  | { readonly is: 'malformed' };
