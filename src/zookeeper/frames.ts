/**
 * Four times the limit of ZooKeeper's own clients (`jute.maxbuffer`): the list of 70,000 waiters of a mutex. To read and
 * sort it blocks the event loop for about 100 ms, and a longer list would block it for longer.
 */
export const longestFrame = 4 * 1024 * 1024;

/**
 * Cuts a socket's byte stream into ZooKeeper's frames: an int32 length, then that many bytes. Each connection has its
 * own splitter, so half a reply never becomes the start of the next connection's first frame.
 */
export class FrameSplitter {
  #chunks: Buffer[] = [];
  #length = 0;
  /** In bytes. A longer frame is refused as soon as its length is known. */
  longest: number;

  constructor(longest = longestFrame) {
    this.longest = longest;
  }

  /**
   * The whole frames, including their length, that `chunk` completes.
   *
   * @throws RangeError for a length that no server sends: the peer does not speak ZooKeeper's protocol
   */
  *push(chunk: Buffer): Generator<Buffer> {
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
    while (bytes.length - at >= (wanted = this.#frameLength(bytes, at))) yield bytes.subarray(at, (at += wanted));
    if (at === bytes.length) return;
    bytes = bytes.subarray(at);
    this.#chunks = [bytes];
    this.#length = bytes.length;
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

  #frameLength(bytes: Buffer, at = 0): number {
    if (bytes.length - at < 4) return 4;
    const length = bytes.readInt32BE(at);
    if (length < 0 || length > this.longest)
      throw new RangeError(`A frame of ${length} bytes is not ZooKeeper's${guessedFrom(bytes.subarray(at))}`);
    return 4 + length;
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
