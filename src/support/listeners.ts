/**
 * A set of callbacks. A callback that is removed during `tell` is not called any more. Most sets have one callback, and
 * need no Set.
 */
export class Listeners<T> {
  #listeners: Listener<T> | Set<Listener<T>> | undefined;

  add(listener: Listener<T>): () => void {
    const present = this.#listeners;
    if (present === undefined || present === listener) this.#listeners = listener;
    else if (typeof present === 'function') this.#listeners = new Set([present, listener]);
    else present.add(listener);
    return () => this.delete(listener);
  }

  /** Returns false if the listener was not there. */
  delete(listener: Listener<T>): boolean {
    if (this.#listeners instanceof Set) return this.#listeners.delete(listener);
    if (this.#listeners !== listener) return false;
    this.#listeners = undefined;
    return true;
  }

  get isEmpty(): boolean {
    return this.#listeners === undefined || (this.#listeners instanceof Set && this.#listeners.size === 0);
  }

  tell(value: T): void {
    const present = this.#listeners;
    if (present === undefined) return;
    for (const listener of typeof present === 'function' ? [present] : [...present]) {
      if (this.#has(listener)) listener(value);
    }
  }

  #has(listener: Listener<T>): boolean {
    return this.#listeners === listener || (this.#listeners instanceof Set && this.#listeners.has(listener));
  }
}

type Listener<T> = (value: T) => void;
