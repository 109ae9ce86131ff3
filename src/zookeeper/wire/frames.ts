/**
 * Eight times the limit of ZooKeeper's own clients (`jute.maxbuffer`): the list of 130,000 waiters of a mutex. To read
 * and sort it blocks the event loop for up to half a second, and a longer list would block it for longer.
 */
export const longestFrame = 8 * 1024 * 1024;

/** The part of a longer frame that is read: its length, and the header that names the request. */
const startBytes = 20;

/**
 * A longer frame is not skipped, because the connection would be busy with it for seconds. It is shorter than every
 * frame whose length is in truth the start of another protocol.
 */
const longestSkipped = 128 * 1024 * 1024;

/**
 * Cuts a socket's byte stream into ZooKeeper's frames: an int32 length, then that many bytes. Each connection has its
 * own splitter, so half a reply never becomes the start of the next connection's first frame.
 */
export class FrameSplitter {
  #chunks: Buffer[] = [];
  #length = 0;
  /** The bytes of a frame that is too long to be read and that are still to come. */
  #toSkip = 0;
  /** In bytes. */
  longest: number;

  constructor(longest = longestFrame) {
    this.longest = longest;
  }

  /**
   * The whole frames, including their length, that the received bytes complete. Of a frame that is too long to be read,
   * only the start, for {@link refuseCutOff}. The rest is not kept.
   *
   * @throws RangeError for a length that no server sends: the peer does not speak ZooKeeper's protocol
   */
  *push(received: Buffer): Generator<Buffer> {
    const chunk = this.#toSkip === 0 ? received : received.subarray(this.#skip(received.length));
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    let wanted = this.#wanted();
    if (this.#length < wanted) {
      this.#joinSmall();
      return;
    }

    // Joined only when a frame is complete, because joining at every chunk would copy a long frame again and again.
    const [first = chunk] = this.#chunks;
    let bytes = this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks, this.#length);
    this.#chunks = [];
    this.#length = 0;
    let at = 0;
    while (bytes.length - at >= wanted) {
      const frame = bytes.subarray(at, (at += wanted));
      if (isCutOff(frame)) {
        this.#toSkip = 4 + frame.readInt32BE(0) - wanted;
        at += this.#skip(bytes.length - at);
      }
      yield frame;
      if (at === bytes.length) return;
      wanted = this.#frameLength(bytes, at);
    }
    bytes = bytes.subarray(at);
    this.#chunks = [bytes];
    this.#length = bytes.length;
  }

  /** Returns how many of the next `length` bytes belong to a frame that is not read. */
  #skip(length: number): number {
    const skipped = Math.min(this.#toSkip, length);
    this.#toSkip -= skipped;
    return skipped;
  }

  /** A peer that sends a long frame byte by byte must not cost the memory of a buffer for each byte. */
  #joinSmall(): void {
    if (this.#chunks.length >= mostChunks) this.#chunks = [Buffer.concat(this.#chunks, this.#length)];
  }

  #wanted(): number {
    const first = this.#chunks[0];
    if (first === undefined || this.#length < 4) return 4;
    if (first.length >= 4) return this.#frameLength(first);
    this.#chunks = [Buffer.concat(this.#chunks, this.#length)];
    return this.#wanted();
  }

  /** The bytes of the frame that are read. */
  #frameLength(bytes: Buffer, at = 0): number {
    if (bytes.length - at < 4) return 4;
    const length = bytes.readInt32BE(at);
    if (length >= 0 && length <= this.longest) return 4 + length;
    if (length > longestFrame && length <= longestSkipped && this.longest === longestFrame) return startBytes;
    throw new RangeError(`A frame of ${length} bytes is not ZooKeeper's${guessedFrom(bytes.subarray(at))}`);
  }
}

/** @throws TooLongError if the frame is longer than the longest that is read, so that `frame` is only its start */
export function refuseCutOff(frame: Buffer): void {
  if (isCutOff(frame)) throw new TooLongError(`${frame.readInt32BE(0)} bytes`, `${longestFrame} bytes`);
}

function isCutOff(frame: Buffer): boolean {
  return frame.length < 4 + frame.readInt32BE(0);
}

/**
 * An answer that the server has sent in full, and that is too long to be read. It fails its request alone, because the
 * place of the next answer is known, and because a new connection would bring the same answer again.
 */
export class TooLongError extends RangeError {
  constructor(length: string, most: string) {
    super(`The answer has ${length}, and at most ${most} are read`);
  }
}

const mostChunks = 4_096;

/** Names the protocol that the peer speaks instead, if its first four bytes show it. */
function guessedFrom(bytes: Buffer): string {
  const start = bytes.toString('latin1', 0, 4);
  if (/^[\x20-\x7e]{4}$/.test(start))
    return `: the answer begins with the text ${JSON.stringify(start)}. Is this the clientPort of a ZooKeeper server?`;
  const [type = 0, version] = bytes;
  const isTls = (type === tlsAlert || type === tlsHandshake) && version === 3;
  return isTls
    ? ': the answer is TLS. If this is the secureClientPort of a ZooKeeper server, set the option `tls`'
    : '';
}

/** TLS's ContentType. */
const tlsAlert = 21;
const tlsHandshake = 22;
