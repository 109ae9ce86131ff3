import type { Claim } from './claim.js';
import { heaviest, type WeightedChild } from './weighted-name.js';

/**
 * Decides which participant of a weighted lock is next, from the children and the last claim, without I/O, clock or
 * state. Heavier waiters come first; waiters of one weight in the order in which they came. No waiter is granted before
 * a lighter, earlier waiter that has been overtaken often enough. docs/locks/weights.md says how often that is,
 * and why no wait lasts forever.
 */
export class WeightedQueue {
  readonly #byName = new Map<string, WeightedChild>();
  readonly #claim: Claim | undefined;
  readonly #holder: WeightedChild | undefined;
  readonly #waiters: readonly WeightedChild[];
  readonly #overtakers: readonly number[];
  /** The waiter of the same weight right before each waiter. */
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

  /** The queue with one more child. */
  with(child: WeightedChild): WeightedQueue {
    return new WeightedQueue([...this.#byName.values(), child], this.#claim);
  }

  /** The name of the holder; undefined while the lock is free. */
  get holder(): string | undefined {
    return this.#holder?.name;
  }

  standingOf(name: string): WeightedStanding {
    const child = this.#byName.get(name);
    if (child === undefined) return { is: 'absent' };
    if (child === this.#holder) return { is: 'holder' };
    // The waiter of the same weight before this one would always be granted first.
    const before = this.#predecessors.get(child);
    if (before) return { is: 'waiting', watch: before.name, watchesClaim: false };
    if (child === this.#next)
      return this.#holder ? { is: 'waiting', watch: this.#holder.name, watchesClaim: false } : { is: 'next' };
    // Each claim counts as an overtake, so it may make another waiter next while the watched child still exists.
    const { name: watch } = this.#heads.get(child.weight)?.blocker ?? this.#next ?? child;
    return { is: 'waiting', watch, watchesClaim: true };
  }

  /** The number of a waiter among those of its weight, from 1. */
  rankOf(name: string): number {
    let rank = 0;
    for (let child = this.#byName.get(name); child; child = this.#predecessors.get(child)) rank += 1;
    return rank;
  }

  /** The claim that the child of this name writes when it is next. */
  claimOf(name: string): Claim {
    const own = this.#byName.get(name);
    const earliest = this.#waiters.find((child) => child !== own);
    // A child that is not later than the first remaining waiter has overtaken none of them. A child that comes from now
    // on is later than all of them.
    const all = own && earliest ? [...this.#overtakers, own.sequence] : [];
    return {
      holder: name,
      overtakers: all.filter((sequence) => earliest && sequence > earliest.sequence).sort((a, b) => a - b),
    };
  }

  /** The names in the order of their grants if no participant comes, or leaves before its grant: the holder first. */
  get order(): ReadonlyMap<string, number> {
    this.#order ??= new Map([...this.#served()].map((child, index) => [child.name, index]));
    return this.#order;
  }

  *#served(): Generator<WeightedChild> {
    if (this.#holder) yield this.#holder;
    const overtakers = [...this.#overtakers];
    // In each group of waiters with the same weight and limit, the first decides for all. So only one waiter for each
    // group is examined each time, not all of them.
    const groups = groupsOf(this.#waiters);
    for (;;) {
      const firsts = groups.flatMap((group) => group.at(-1) ?? []).sort((a, b) => a.sequence - b.sequence);
      const next = nextOf(headsOf(firsts, overtakers));
      if (next === undefined) return;
      yield next;
      overtakers.splice(overtakers.length - countAfter(overtakers, next.sequence), 0, next.sequence);
      groups.find((group) => group.at(-1) === next)?.pop();
    }
  }
}

/** The position of one child of a weighted lock in one look. */
export type WeightedStanding =
  | { readonly is: 'absent' }
  | { readonly is: 'holder' }
  /** The lock is free, and this child has to claim it. */
  | { readonly is: 'next' }
  /** The child cannot be next while the child `watch` exists and, if `watchesClaim`, no new claim is written. */
  | { readonly is: 'waiting'; readonly watch: string; readonly watchesClaim: boolean };

/** The first waiter of one weight. */
interface Head {
  readonly child: WeightedChild;
  /** A lighter, earlier waiter that this weight may not overtake any more. */
  readonly blocker: WeightedChild | undefined;
}

/** Groups the waiters by weight and limit, in each group the first waiter last. */
function groupsOf(waiters: readonly WeightedChild[]): WeightedChild[][] {
  const groups = new Map<string, WeightedChild[]>();
  for (const child of waiters.toReversed()) {
    const kind = `${child.weight}x${child.overtakesPerWeight}`;
    const group = groups.get(kind);
    if (group) group.push(child);
    else groups.set(kind, [child]);
  }
  return [...groups.values()];
}

/** @param waiters sorted by sequence number */
function headsOf(waiters: readonly WeightedChild[], overtakers: readonly number[]): Map<number, Head> {
  const heads = new Map<number, Head>();
  /**
   * By weight: the earlier waiter that lets the fewest others overtake it, and the least weight that may still do so.
   */
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
 * The least weight that may overtake a waiter. Until the waiter has been overtaken `overtakesPerWeight` times, any
 * heavier waiter may; after that, only waiters that are two steps heavier; and so on.
 */
function leastWeightToPass(
  { sequence, weight, overtakesPerWeight }: WeightedChild,
  overtakers: readonly number[],
): number {
  return weight + 1 + Math.floor(countAfter(overtakers, sequence) / overtakesPerWeight);
}

/** How many of the sorted numbers are greater than `number`. */
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
