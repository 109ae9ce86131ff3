/**
 * All that is still to happen, in the order in which it happens. Two events of one time happen in the order of their
 * phases, as in one turn of an event loop: timers, then sockets, then what waits for the sockets. Two events of one
 * phase happen in the order in which they were added.
 */
export class Agenda {
  /** Virtual milliseconds. */
  now = 0;
  /** The number of events that have happened. */
  happened = 0;
  readonly #heap: Entry[] = [];
  #added = 0;

  add(at: number, phase: Phase, whose: Whose | undefined, run: () => void): Entry {
    const entry: Entry = { at: Math.max(at, this.now), phase, order: (this.#added += 1), whose, run };
    this.#push(entry);
    return entry;
  }

  /** Takes the next event, and moves the time to it. Undefined if nothing is due at `until` or before. */
  take(until: number): Entry | undefined {
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.at > until) return undefined;
      this.#pop();
      if (next.run === cancelled || next.whose?.isDead === true) continue;
      this.now = next.at;
      const busyUntil = next.whose?.stalledUntil ?? 0;
      if (busyUntil > next.at) {
        next.at = busyUntil;
        next.order = this.#added += 1;
        this.#push(next);
        continue;
      }
      this.happened += 1;
      return next;
    }
  }

  get isEmpty(): boolean {
    return this.#heap.length === 0;
  }

  /** The events that one process still expects, without those that were cancelled. */
  countOf(whose: Whose): number {
    return this.#heap.filter((entry) => entry.whose === whose && !isCancelled(entry)).length;
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(entry);
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt] as Entry;
      if (!isBefore(entry, parent)) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop() as Entry;
    if (heap.length === 0) return;
    let at = 0;
    for (;;) {
      let childAt = 2 * at + 1;
      if (childAt >= heap.length) break;
      if (childAt + 1 < heap.length && isBefore(heap[childAt + 1] as Entry, heap[childAt] as Entry)) childAt += 1;
      const child = heap[childAt] as Entry;
      if (!isBefore(child, last)) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = last;
  }
}

export interface Entry {
  at: number;
  readonly phase: Phase;
  order: number;
  /** The process whose code runs. The servers have none: they are never stalled. */
  readonly whose: Whose | undefined;
  run: () => void;
}

/** `timer` comes before `socket`, and `check` behind it: see Node's event loop. */
export type Phase = 0 | 1 | 2;
export const phases = { timer: 0, socket: 1, check: 2 } as const;

/** A process, whose events wait while it does not run. */
export interface Whose {
  readonly stalledUntil: number;
  readonly isDead: boolean;
}

export function cancel(entry: Entry): void {
  entry.run = cancelled;
}

function cancelled(): void {
  // Nothing happens.
}

function isCancelled(entry: Entry): boolean {
  return entry.run === cancelled;
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.at !== b.at ? a.at < b.at : a.phase !== b.phase ? a.phase < b.phase : a.order < b.order;
}
