/**
 * The data of the znodes that one client has read last. Data that was recalled since is kept apart, so that reading a
 * long queue does not push it out. Both parts forget the oldest entries, so that neither grows with the number of locks
 * that were ever read.
 */
export class RecentData {
  readonly #read = new NewestData();
  readonly #recalled = new NewestData();

  /** @param czxid distinguishes the znode from earlier znodes at the same path */
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
