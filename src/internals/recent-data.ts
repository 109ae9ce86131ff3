/**
 * The data of the znodes that one client has read last, and of those that it was asked for since: these are kept apart,
 * so that a long queue that is read does not
 * push them out. The oldest are forgotten, so that neither grows with every lock that was ever looked at.
 */
export class RecentData {
  readonly #read = new NewestData();
  readonly #recalled = new NewestData();

  /** @param czxid tells the znode from others that had its path before */
  remember(path: string, czxid: bigint, data: Buffer): void {
    const key = keyOf(path, czxid);
    this.#recalled.forget(key);
    this.#read.put(key, data);
  }

  recall(path: string, czxid: bigint): Buffer | undefined {
    const key = keyOf(path, czxid);
    const data = this.#recalled.get(key) ?? this.#read.get(key);
    if (data) this.#recalled.put(key, data);
    return data;
  }
}

const mostZnodes = 1_000;

const mostBytes = 4 * 1_024 * 1_024;

class NewestData {
  readonly #byKey = new Map<string, Buffer>();
  #bytes = 0;

  get(key: string): Buffer | undefined {
    return this.#byKey.get(key);
  }

  put(key: string, data: Buffer): void {
    this.forget(key);
    this.#byKey.set(key, data);
    this.#bytes += data.length;
    for (const oldest of this.#byKey.keys()) {
      if (this.#byKey.size <= mostZnodes && this.#bytes <= mostBytes) return;
      this.forget(oldest);
    }
  }

  forget(key: string): void {
    this.#bytes -= this.#byKey.get(key)?.length ?? 0;
    this.#byKey.delete(key);
  }
}

function keyOf(path: string, czxid: bigint): string {
  return `${czxid} ${path}`;
}
