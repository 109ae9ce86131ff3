/** The things that a client has reported lately, so that it reports each once. At most a hundred, because paths may be many. */
export class RecentKeys {
  readonly #keys = new Set<string>();

  /** Remembers the key. Returns false if it was one of the last ones. */
  isNew(key: string): boolean {
    if (this.#keys.has(key)) return false;
    if (this.#keys.size >= mostKeys) this.#keys.clear();
    this.#keys.add(key);
    return true;
  }
}

const mostKeys = 100;
