import { Refusal } from './refusal.js';

/**
 * Reads ZooKeeper's records as the Java server does: null differs from empty, a vector of negative length is empty, and
 * any byte except 0 is true. A record that is cut short, or that contains a length that no frame may have, is refused
 * with MARSHALLING_ERROR.
 */
export class JuteReader {
  readonly #buffer: Buffer;
  readonly #maxLength: number;
  #at: number;

  constructor(buffer: Buffer, maxLength: number, at = 0) {
    this.#buffer = buffer;
    this.#maxLength = maxLength;
    this.#at = at;
  }

  int(): number {
    return this.#buffer.readInt32BE(this.#next(4));
  }

  long(): bigint {
    return this.#buffer.readBigInt64BE(this.#next(8));
  }

  flag(): boolean {
    return this.#buffer[this.#next(1)] !== 0;
  }

  text(): string | null {
    const slice = this.#slice();
    return slice === null ? null : slice.toString('utf8');
  }

  /** Returns a copy, so that the frame can be freed. */
  bytes(): Buffer | null {
    const slice = this.#slice();
    return slice === null ? null : Buffer.from(slice);
  }

  vector<T>(item: () => T): T[] | null {
    const count = this.int();
    if (count === -1) return null;
    const items: T[] = [];
    // A count of 2^31 ends here, too: each item takes bytes, and the frame has no more of them.
    for (let index = 0; index < count; index += 1) items.push(item());
    return items;
  }

  texts(): (string | null)[] | null {
    return this.vector(() => this.text());
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#buffer.length;
  }

  #next(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#buffer.length) throw Refusal.of('MARSHALLING_ERROR');
    this.#at += bytes;
    return at;
  }

  #slice(): Buffer | null {
    const length = this.int();
    if (length === -1) return null;
    if (length < 0 || length > this.#maxLength) throw Refusal.of('MARSHALLING_ERROR');
    const at = this.#next(length);
    return this.#buffer.subarray(at, at + length);
  }
}

/** Java's server writes each half of a surrogate pair as three bytes, which is not UTF-8. */
const surrogate = /[\ud800-\udfff]/;

/** Writes frames into one buffer that it reuses; `frame` returns a copy of each. */
export class JuteWriter {
  #buffer = Buffer.allocUnsafe(4_096);
  #at = 4;

  /** The number of bytes that were written since the last frame. */
  get length(): number {
    return this.#at - 4;
  }

  /** Discards the bytes that were written since the last frame. */
  reset(): this {
    this.#at = 4;
    return this;
  }

  int(value: number): this {
    this.#reserve(4);
    this.#at = this.#buffer.writeInt32BE(value, this.#at);
    return this;
  }

  long(value: bigint): this {
    this.#reserve(8);
    this.#at = this.#buffer.writeBigInt64BE(value, this.#at);
    return this;
  }

  /** Writes a long that is a safe integer: a zxid, or a time. */
  count(value: number): this {
    this.#reserve(8);
    const high = Math.floor(value / 2 ** 32);
    this.#at = this.#buffer.writeInt32BE(high, this.#at);
    this.#at = this.#buffer.writeUInt32BE(value - high * 2 ** 32, this.#at);
    return this;
  }

  flag(value: boolean): this {
    this.#reserve(1);
    this.#at = this.#buffer.writeUInt8(value ? 1 : 0, this.#at);
    return this;
  }

  text(value: string | null): this {
    if (value === null) return this.int(-1);
    if (surrogate.test(value)) return this.bytes(cesu8(value));
    // A UTF-16 code unit takes at most three bytes in UTF-8.
    this.#reserve(4 + value.length * 3);
    const length = this.#buffer.write(value, this.#at + 4);
    this.#buffer.writeInt32BE(length, this.#at);
    this.#at += 4 + length;
    return this;
  }

  bytes(value: Uint8Array | null): this {
    if (value === null) return this.int(-1);
    this.#reserve(4 + value.length);
    this.#at = this.#buffer.writeInt32BE(value.length, this.#at);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
    return this;
  }

  texts(values: readonly string[]): this {
    this.int(values.length);
    for (const value of values) this.text(value);
    return this;
  }

  /** Overwrites the int that stands after `behind` bytes. */
  replaceInt(behind: number, value: number): this {
    this.#buffer.writeInt32BE(value, 4 + behind);
    return this;
  }

  /** Returns the bytes that were written since `reset`, preceded by their length. */
  frame(): Buffer {
    this.#buffer.writeInt32BE(this.#at - 4, 0);
    const frame = Buffer.allocUnsafe(this.#at);
    this.#buffer.copy(frame, 0, 0, this.#at);
    this.reset();
    return frame;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + more));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

function cesu8(value: string): Buffer {
  const units = Array.from({ length: value.length }, (_, index) => {
    const unit = value.charCodeAt(index);
    if (unit < 0xd800 || unit > 0xdfff) return Buffer.from(value.charAt(index));
    return Buffer.from([0xe0 | (unit >> 12), 0x80 | ((unit >> 6) & 0x3f), 0x80 | (unit & 0x3f)]);
  });
  return Buffer.concat(units);
}
