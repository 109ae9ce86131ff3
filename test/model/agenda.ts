/** An action with at most one due time; Infinity: not due for now. */
export interface Due {
  at: number;
  readonly run: () => void;
}

/** The next actions. There are about thirty, so a walk over them is faster than a heap. */
export class Agenda {
  now = 0;
  readonly #dues: Due[] = [];
  readonly #end: Due = { at: Infinity, run: () => {} };

  /** If two actions are due at the same time, the one that was added first runs first. */
  add(run: () => void): Due {
    const due = { at: Infinity, run };
    this.#dues.push(due);
    return due;
  }

  /** Runs the next action that is due before `until`; false if there is none. */
  step(until: number): boolean {
    let next = this.#end;
    next.at = until;
    for (const due of this.#dues) if (due.at < next.at) next = due;
    if (next === this.#end) return false;
    this.now = next.at;
    next.at = Infinity;
    next.run();
    return true;
  }
}
