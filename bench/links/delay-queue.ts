/** Items that become due a fixed time after they came. Items with the same delay leave in the order in which they came. */
export class DelayQueue<T> {
  readonly #byDelay = new Map<number, { due: number; item: T }[]>();

  add(item: T, now: number, delay: number): void {
    const queue = this.#byDelay.get(delay) ?? [];
    this.#byDelay.set(delay, queue);
    queue.push({ due: now + delay, item });
  }

  /** The time of the item that is due next. */
  get nextDue(): number | undefined {
    const first = [...this.#byDelay.values()].flatMap(([entry]) => entry?.due ?? []);
    return first.length === 0 ? undefined : Math.min(...first);
  }

  /** Removes the items that are due. */
  take(now: number): T[] {
    return [...this.#byDelay.values()].flatMap((queue) => {
      const early = queue.findIndex(({ due }) => due > now);
      return queue.splice(0, early === -1 ? queue.length : early).map(({ item }) => item);
    });
  }
}
