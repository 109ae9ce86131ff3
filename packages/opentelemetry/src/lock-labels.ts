import type { Attributes } from '@opentelemetry/api';
import type { AcquireMessage } from '../../../src/mutex/report/lock-tracing.js';

/** The labels of all locks: one for each name and kind. */
export class LockLabels {
  readonly #lockName: (path: string) => string;
  readonly #all = new Map<string, LockLabel>();
  /** By kind, then by path, so that a lock that is used often is not named again. */
  readonly #known = new Map<string, Map<string, LockLabel>>();

  constructor(lockName: (path: string) => string) {
    this.#lockName = lockName;
  }

  of({ path, kind }: { readonly path: string; readonly kind: string }): LockLabel {
    return this.#known.get(kind)?.get(path) ?? this.#learn(path, kind);
  }

  all(): Iterable<LockLabel> {
    return this.#all.values();
  }

  #learn(path: string, kind: string): LockLabel {
    const name = this.#lockName(path);
    const nameKey = `${kind} ${name}`;
    const label = this.#all.get(nameKey) ?? new LockLabel(name, kind);
    this.#all.set(nameKey, label);
    const known = this.#known.get(kind) ?? new Map<string, LockLabel>();
    if (known.size >= mostKnown) known.clear();
    this.#known.set(kind, known.set(path, label));
    return label;
  }
}

/** The name and the kind of some locks, and what was counted of them. */
export class LockLabel {
  readonly attributes: Attributes;
  /** True until the series of its counters have begun. */
  isNew = true;
  /** The acquires that wait now. */
  waiting = 0;
  /** The locks that are held now. */
  held = 0;
  /** The acquires that have settled since the last `takeAcquisitions`, by their outcome. */
  #acquisitions = new Map<AcquireOutcome, number>();
  readonly #byOutcome = new Map<string, Attributes>();
  readonly #byReason = new Map<string, Attributes>();

  constructor(name: string, kind: string) {
    this.attributes = { 'zookeeper.lock.name': name, 'zookeeper.lock.kind': kind };
  }

  withOutcome(outcome: string): Attributes {
    return this.#with(this.#byOutcome, 'outcome', outcome);
  }

  withReason(reason: string): Attributes {
    return this.#with(this.#byReason, 'reason', reason);
  }

  /** Returns how many of them there are since the last `takeAcquisitions`. */
  acquired(outcome: AcquireOutcome): number {
    const count = (this.#acquisitions.get(outcome) ?? 0) + 1;
    this.#acquisitions.set(outcome, count);
    return count;
  }

  takeAcquisitions(): ReadonlyMap<AcquireOutcome, number> {
    const taken = this.#acquisitions;
    this.#acquisitions = new Map();
    return taken;
  }

  /** The same object each time, because these are needed at each acquire. */
  #with(known: Map<string, Attributes>, name: string, value: string): Attributes {
    const attributes = known.get(value) ?? { ...this.attributes, [name]: value };
    known.set(value, attributes);
    return attributes;
  }
}

/** The most paths of one kind whose label is remembered. */
const mostKnown = 1_000;

export type AcquireOutcome = Exclude<AcquireMessage['outcome'], undefined>;
