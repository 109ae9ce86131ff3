import { TooLongError } from './frames.js';

/**
 * ZooKeeper's record encoding (jute): big-endian numbers; strings and buffers with an int32 length, which is -1 for
 * null. One writer may write many frames, one behind the other.
 */
export class Writer {
  #chroot: Buffer;
  #buffer = Buffer.allocUnsafe(smallest);
  /** The start of the frame that is being written. All frames before it are complete. */
  #frameAt = 0;
  #at = lengthBytes;

  constructor(chroot: Buffer = noChroot) {
    this.#chroot = chroot;
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

  flag(value: boolean): this {
    this.#reserve(1);
    this.#at = this.#buffer.writeUInt8(value ? 1 : 0, this.#at);
    return this;
  }

  text(value: string): this {
    return this.#text(value, noChroot);
  }

  /** Writes a path below the chroot as the servers know it: with the chroot in front. */
  path(value: string): this {
    return this.#text(value === '/' && this.#chroot.length > 0 ? '' : value, this.#chroot);
  }

  /** Writes the start of a path, which the server completes. Below a chroot, `/` is the start of the root's children. */
  pathStart(value: string): this {
    return this.#text(value, this.#chroot);
  }

  bytes(value: Uint8Array): this {
    this.#reserve(4 + value.length);
    this.#at = this.#buffer.writeInt32BE(value.length, this.#at);
    this.#buffer.set(value, this.#at);
    this.#at += value.length;
    return this;
  }

  paths(values: readonly string[]): this {
    this.int(values.length);
    for (const value of values) this.path(value);
    return this;
  }

  /** Writes a frame whose paths are below `chroot`, and returns its length. If `record` throws, nothing is written. */
  addFrame(record: { write(to: Writer): unknown }, chroot: Buffer): number {
    this.#chroot = chroot;
    const from = this.#frameAt;
    try {
      record.write(this);
      this.#endFrame();
    } finally {
      this.#at = this.#frameAt + lengthBytes;
    }
    return this.#frameAt - from;
  }

  /** Removes the last frame, which has this length. */
  dropFrame(bytes: number): void {
    this.#frameAt -= bytes;
    this.#at = this.#frameAt + lengthBytes;
  }

  /** The bytes that were written since the last call, with their int32 length in front: a frame. */
  frame(): Buffer {
    this.#endFrame();
    return this.frames();
  }

  /** The frames that were added since the last call. */
  frames(): Buffer {
    const frames = Buffer.allocUnsafe(this.#frameAt);
    this.#buffer.copy(frames, 0, 0, this.#frameAt);
    this.clear();
    return frames;
  }

  clear(): void {
    this.#frameAt = 0;
    this.#at = lengthBytes;
    if (this.#buffer.length > longestKept) this.#buffer = Buffer.allocUnsafe(smallest);
  }

  get isEmpty(): boolean {
    return this.#frameAt === 0;
  }

  #endFrame(): void {
    this.#buffer.writeInt32BE(this.#at - this.#frameAt - lengthBytes, this.#frameAt);
    this.#frameAt = this.#at;
    this.#reserve(lengthBytes);
    this.#at += lengthBytes;
  }

  #text(value: string, prefix: Buffer): this {
    // A UTF-16 code unit takes at most three bytes in UTF-8.
    this.#reserve(4 + prefix.length + value.length * 3);
    if (prefix.length > 0) this.#buffer.set(prefix, this.#at + 4);
    const length = prefix.length + this.#buffer.write(value, this.#at + 4 + prefix.length);
    this.#buffer.writeInt32BE(length, this.#at);
    this.#at += 4 + length;
    return this;
  }

  #reserve(more: number): void {
    if (this.#at + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + more));
    this.#buffer.copy(larger, 0, 0, this.#at);
    this.#buffer = larger;
  }
}

/**
 * Reads the encoding of `Writer`. Throws a RangeError if a record is cut short, or has a length that its frame cannot
 * hold.
 */
export class Reader {
  readonly #buffer: Buffer;
  readonly #chroot: Buffer;
  #at: number;

  constructor(buffer: Buffer, at = 0, chroot: Buffer = noChroot) {
    this.#buffer = buffer;
    this.#at = at;
    this.#chroot = chroot;
  }

  int(): number {
    return this.#buffer.readInt32BE(this.skip(4));
  }

  long(): bigint {
    return this.#buffer.readBigInt64BE(this.skip(8));
  }

  /** @throws RangeError if something is left of the frame: a count or a length in it was wrong */
  end(): void {
    const left = this.#buffer.length - this.#at;
    if (left > 0) throw new RangeError(`A frame of ${this.#buffer.length} bytes has ${left} bytes too many`);
  }

  flag(): boolean {
    return this.#buffer.readUInt8(this.skip(1)) === 1;
  }

  /** Returns the next number, and leaves it unread. */
  peekInt(): number {
    const value = this.int();
    this.#at -= 4;
    return value;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#buffer.length;
  }

  text(): string {
    const length = this.#length(1);
    const at = this.skip(length);
    return this.#buffer.toString('utf8', at, at + length);
  }

  /**
   * Reads a path as the servers know it, and removes the chroot. The bytes are cut before they are decoded, because a
   * part of a string would keep the whole string in memory.
   */
  path(): string {
    const slice = this.#slice();
    const chroot = this.#chroot;
    if (chroot.length === 0) return slice.toString('utf8');
    const isBelow = slice.length === chroot.length || slice[chroot.length] === slash;
    if (!isBelow || slice.compare(chroot, 0, chroot.length, 0, chroot.length) !== 0) {
      const start = slice.toString('utf8', 0, longestShown);
      throw new RangeError(`The path ${start} is not below the chroot ${chroot.toString('utf8')}`);
    }
    return slice.length === chroot.length ? '/' : slice.toString('utf8', chroot.length);
  }

  /** Returns a copy, so that the frame can be freed. */
  bytes(): Buffer {
    return Buffer.from(this.#slice());
  }

  texts(): string[] {
    // Each text takes at least four bytes. The count is checked first, because a list of 2^31 texts must fail before it
    // is begun.
    const count = this.#length(4);
    if (count > mostTexts) throw new TooLongError(`${count} names`, `${mostTexts} names`);
    const values: string[] = [];
    for (let index = 0; index < count; index += 1) values.push(this.text());
    return values;
  }

  /**
   * Moves behind the next `bytes` bytes, and returns their position. Checked here, because Node's own error would name an
   * offset.
   */
  skip(bytes: number): number {
    const at = this.#at;
    if (at + bytes > this.#buffer.length) throw new RangeError(`A frame of ${this.#buffer.length} bytes is cut short`);
    this.#at += bytes;
    return at;
  }

  #slice(): Buffer {
    const length = this.#length(1);
    const slice = this.#buffer.subarray(this.#at, this.#at + length);
    this.#at += length;
    return slice;
  }

  /** Reads a count of elements that take at least `bytesEach` bytes each; -1 stands for null. */
  #length(bytesEach: number): number {
    const count = this.int();
    if (count < -1) throw new RangeError(`A record of length ${count} is not ZooKeeper's`);
    if (count * bytesEach > this.#buffer.length - this.#at)
      throw new RangeError(`A record of length ${count} is cut short`);
    return Math.max(0, count);
  }
}

/** The prefix of no chroot. */
export const noChroot = Buffer.alloc(0);

/**
 * A frame of 8 MB may contain two million short names, and to read and sort them would block the event loop. The list
 * of the waiters of a lock reaches the limit of the frame at about the same number.
 */
const mostTexts = 131_072;

/** The part of a text of the server that an error shows, in bytes. */
const longestShown = 200;

/** The int32 in front of each frame. */
const lengthBytes = 4;

/** The first size of a writer's memory, in bytes. */
const smallest = 256;

/** A writer that had to write more at once gives its memory back. */
const longestKept = 64 * 1024;

const slash = 0x2f;
