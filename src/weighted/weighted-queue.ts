import type { Claim } from './claim.js';
import { heaviest, type WeightedChild } from './weighted-name.js';

/**
 * Who is next of a weighted lock, decided from who is there and what the last claim says: no I/O, no clock, no state.
 * Heavier first, first come first served
 * within a weight; and nobody is let in before somebody lighter who came earlier and has been overtaken often enough.
 * How often, and why nobody waits
 * for ever: docs/weights.md.
 */
export class WeightedQueue {
  readonly #byName = new Map<string, WeightedChild>();
  readonly #claim: Claim | undefined;
  readonly #holder: WeightedChild | undefined;
  readonly #waiters: readonly WeightedChild[];
  readonly #overtakers: readonly number[];
  /** The one of the same weight right before. */
  readonly #predecessors = new Map<WeightedChild, WeightedChild>();
  readonly #heads: ReadonlyMap<number, Head>;
  readonly #next: WeightedChild | undefined;
  #order: ReadonlyMap<string, number> | undefined;

  constructor(children: readonly WeightedChild[], claim: Claim | undefined) {
    this.#claim = claim;
    const sorted = children.toSorted((a, b) => a.sequence - b.sequence);
    for (const child of sorted) this.#byName.set(child.name, child);
    this.#holder = claim && this.#byName.get(claim.holder);
    this.#waiters = sorted.filter((child) => child !== this.#holder);
    this.#overtakers = claim?.overtakers ?? [];
    this.#heads = headsOf(this.#waiters, this.#overtakers);
    this.#next = nextOf(this.#heads);
    const lastOf = new Map<number, WeightedChild>();
    for (const child of this.#waiters) {
      const before = lastOf.get(child.weight);
      if (before) this.#predecessors.set(child, before);
      lastOf.set(child.weight, child);
    }
  }

  /** As it would be with one more. */
  with(child: WeightedChild): WeightedQueue {
    return new WeightedQueue([...this.#byName.values(), child], this.#claim);
  }

  /** The name of who holds the lock; undefined while nobody does. */
  get holder(): string | undefined {
    return this.#holder?.name;
  }

  standingOf(name: string): WeightedStanding {
    const child = this.#byName.get(name);
    if (child === undefined) return { is: 'absent' };
    if (child === this.#holder) return { is: 'holder' };
    // Of the same weight: whatever would let us in would let that one in before.
    const before = this.#predecessors.get(child);
    if (before) return { is: 'waiting', watch: before.name, watchesClaim: false };
    if (child === this.#next)
      return this.#holder ? { is: 'waiting', watch: this.#holder.name, watchesClaim: false } : { is: 'next' };
    // Each claim counts as an overtake, and may let another one be next while this one is still there.
    const { name: watch } = this.#heads.get(child.weight)?.blocker ?? this.#next ?? child;
    return { is: 'waiting', watch, watchesClaim: true };
  }

  /** What the child of this name writes when it is next. */
  claimOf(name: string): Claim {
    const own = this.#byName.get(name);
    const earliest = this.#waiters.find((child) => child !== own);
    // Who is not later than the first of those who wait has overtaken none of them; who comes from now on is later than
    // all.
    const all = own && earliest ? [...this.#overtakers, own.sequence] : [];
    return {
      holder: name,
      overtakers: all.filter((sequence) => earliest && sequence > earliest.sequence).sort((a, b) => a - b),
    };
  }

  /** The names in the order in which they are let in if nobody comes or goes but by being served: the holder first. */
  get order(): ReadonlyMap<string, number> {
    this.#order ??= new Map([...this.#served()].map((child, index) => [child.name, index]));
    return this.#order;
  }

  *#served(): Generator<WeightedChild> {
    if (this.#holder) yield this.#holder;
    const overtakers = [...this.#overtakers];
    // Of those who are as heavy and as patient as each other the first decides for all: so many are looked at each
    // time, not all who wait.
    const lines = linesOf(this.#waiters);
    for (;;) {
      const firsts = lines.flatMap((line) => line.at(-1) ?? []).sort((a, b) => a.sequence - b.sequence);
      const next = nextOf(headsOf(firsts, overtakers));
      if (next === undefined) return;
      yield next;
      overtakers.splice(overtakers.length - countAfter(overtakers, next.sequence), 0, next.sequence);
      lines.find((line) => line.at(-1) === next)?.pop();
    }
  }
}

/** What one of a weighted lock's children has to do, as one look has shown it. */
export type WeightedStanding =
  | { readonly is: 'absent' }
  | { readonly is: 'holder' }
  /** The lock is free, and it is the one to claim it. */
  | { readonly is: 'next' }
  /** It cannot be its turn while the child `watch` is there and, if `watchesClaim`, nobody claims the lock. */
  | { readonly is: 'waiting'; readonly watch: string; readonly watchesClaim: boolean };

/** The first in line of one weight. */
interface Head {
  readonly child: WeightedChild;
  /** Somebody lighter who came before, and has been overtaken as often as this weight may. */
  readonly blocker: WeightedChild | undefined;
}

/** Those who are as heavy and as patient as each other, the first of them last. */
function linesOf(waiters: readonly WeightedChild[]): WeightedChild[][] {
  const lines = new Map<string, WeightedChild[]>();
  for (const child of waiters.toReversed()) {
    const kind = `${child.weight}x${child.overtakesPerWeight}`;
    const line = lines.get(kind);
    if (line) line.push(child);
    else lines.set(kind, [child]);
  }
  return [...lines.values()];
}

/** @param waiters in the order of their sequence numbers */
function headsOf(waiters: readonly WeightedChild[], overtakers: readonly number[]): Map<number, Head> {
  const heads = new Map<number, Head>();
  /** By weight: who of those before lets the fewest pass, and how heavy one has to be for it. */
  const strictest = new Map<number, { readonly child: WeightedChild; readonly least: number }>();
  for (const child of waiters) {
    if (!heads.has(child.weight)) {
      const before = [...strictest.values()].find((one) => one.child.weight < child.weight && one.least > child.weight);
      heads.set(child.weight, { child, blocker: before?.child });
    }
    const least = leastWeightToPass(child, overtakers);
    if (least > (strictest.get(child.weight)?.least ?? 0)) strictest.set(child.weight, { child, least });
  }
  return heads;
}

function nextOf(heads: ReadonlyMap<number, Head>): WeightedChild | undefined {
  for (let weight = heaviest; weight > 0; weight -= 1) {
    const head = heads.get(weight);
    if (head && !head.blocker) return head.child;
  }
  return undefined;
}

/**
 * Overtaken fewer than `overtakesPerWeight` times, it lets pass whoever is heavier at all; from then on, only those who
 * are two steps heavier; and so on.
 */
function leastWeightToPass(
  { sequence, weight, overtakesPerWeight }: WeightedChild,
  overtakers: readonly number[],
): number {
  return weight + 1 + Math.floor(countAfter(overtakers, sequence) / overtakesPerWeight);
}

/** How many of the sorted numbers are greater. */
function countAfter(sorted: readonly number[], number: number): number {
  let from = 0;
  let to = sorted.length;
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((sorted[middle] ?? 0) > number) to = middle;
    else from = middle + 1;
  }
  return sorted.length - from;
}
