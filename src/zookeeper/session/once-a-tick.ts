/**
 * A request about a lock's znode that all its callers in one tick share. It is sent behind all other requests of that
 * tick, in the same flush. Without it, a thousand acquires at once would get a thousand lists of a thousand names.
 */
export class OnceATick<T> {
  readonly #send: (path: string) => Promise<T>;
  readonly #pending = new Map<string, Promise<T>>();

  constructor(send: (path: string) => Promise<T>) {
    this.#send = send;
  }

  ask(path: string): Promise<T> {
    const shared = this.#pending.get(path);
    if (shared) return shared;
    const answer = new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
      this.#pending.delete(path);
      return this.#send(path);
    });
    this.#pending.set(path, answer);
    return answer;
  }
}
