/** Something that happens at one time at most; Infinity: not for now. */
export interface Due {
  at: number;
  readonly run: () => void;
}

/** What happens next. There are about thirty dues, so a walk over them beats a heap. */
export class Agenda {
  now = 0;
  readonly #dues: Due[] = [];
  readonly #end: Due = { at: Infinity, run: () => {} };

  /** On a tie the one that was added first runs first. */
  add(run: () => void): Due {
    const due = { at: Infinity, run };
    this.#dues.push(due);
    return due;
  }

  /** Runs the next thing that is due before `until`; false when there is none. */
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
