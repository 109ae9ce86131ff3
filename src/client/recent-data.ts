const mostZnodes = 1_000;
const mostBytes = 4 * 1_024 * 1_024;

/** The data of the znodes that a client has read last: the oldest are forgotten, so that it does not grow with every lock that was ever looked at. */
export class RecentData {
  readonly #byZnode = new Map<string, Buffer>();
  #bytes = 0;

  /** @param czxid tells the znode from others that had its path before */
  remember(path: string, czxid: bigint, data: Buffer): void {
    const key = keyOf(path, czxid);
    this.#forget(key);
    this.#byZnode.set(key, data);
    this.#bytes += data.length;
    for (const oldest of this.#byZnode.keys()) {
      if (this.#byZnode.size <= mostZnodes && this.#bytes <= mostBytes) return;
      this.#forget(oldest);
    }
  }

  recall(path: string, czxid: bigint): Buffer | undefined {
    return this.#byZnode.get(keyOf(path, czxid));
  }

  #forget(key: string): void {
    this.#bytes -= this.#byZnode.get(key)?.length ?? 0;
    this.#byZnode.delete(key);
  }
}

function keyOf(path: string, czxid: bigint): string {
  return `${czxid} ${path}`;
}
