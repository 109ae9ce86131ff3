/** A set of callbacks that is told something; who leaves while it is being told is not told any more. */
export class Listeners<T> {
  readonly #listeners = new Set<(value: T) => void>();

  add(listener: (value: T) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  tell(value: T): void {
    for (const listener of [...this.#listeners]) {
      if (this.#listeners.has(listener)) listener(value);
    }
  }
}
