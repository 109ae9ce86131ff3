/**
 * Writes ZooKeeper's records. This folder has its own codec, so that a mistake in that of the library or of the embedded
 * server is not made here, too.
 */
export class RecordWriter {
  readonly #parts: Uint8Array[] = [];

  int(value: number): this {
    const part = Buffer.alloc(4);
    part.writeInt32BE(value);
    return this.raw(part);
  }

  long(value: bigint | number): this {
    const part = Buffer.alloc(8);
    part.writeBigInt64BE(BigInt(value));
    return this.raw(part);
  }

  flag(value: boolean): this {
    return this.raw(Buffer.of(value ? 1 : 0));
  }

  /** Bytes or a text, with their length in front. */
  bytes(value: Uint8Array | string | null): this {
    if (value === null) return this.int(-1);
    const bytes = typeof value === 'string' ? Buffer.from(value) : value;
    return this.int(bytes.length).raw(bytes);
  }

  vector<T>(items: readonly T[] | null, write: (item: T) => void): this {
    this.int(items?.length ?? -1);
    items?.forEach(write);
    return this;
  }

  raw(part: Uint8Array): this {
    this.#parts.push(part);
    return this;
  }

  body(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** Everything that was written, with its length in front. */
  frame(): Buffer {
    return new RecordWriter().bytes(this.body()).body();
  }
}

/** Reads ZooKeeper's records. A record that is cut short throws a RangeError. */
export class RecordReader {
  readonly #bytes: Buffer;
  #at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.#at = at;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  int(): number {
    return this.#next(4).readInt32BE();
  }

  long(): bigint {
    return this.#next(8).readBigInt64BE();
  }

  flag(): boolean {
    return this.#next(1)[0] !== 0;
  }

  bytes(): Buffer | null {
    const length = this.int();
    return length === -1 ? null : this.#next(length);
  }

  text(): string | null {
    return this.bytes()?.toString() ?? null;
  }

  vector<T>(item: () => T): T[] | null {
    const count = this.int();
    return count === -1 ? null : Array.from({ length: count }, item);
  }

  texts(): (string | null)[] | null {
    return this.vector(() => this.text());
  }

  #next(length: number): Buffer {
    const end = this.#at + length;
    if (length < 0 || end > this.#bytes.length)
      throw new RangeError(`Expected ${length} bytes at ${this.#at} of ${this.#bytes.length}`);
    const slice = this.#bytes.subarray(this.#at, end);
    this.#at = end;
    return slice;
  }
}

/** Joins the bytes of a stream to frames, each with its length in front. */
export class FrameSplitter {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Buffer): Buffer[] {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Buffer[] = [];
    while (this.#rest.length >= 4) {
      const end = 4 + this.#rest.readInt32BE(0);
      if (this.#rest.length < end) break;
      frames.push(this.#rest.subarray(0, end));
      this.#rest = this.#rest.subarray(end);
    }
    return frames;
  }
}
