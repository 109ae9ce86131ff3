import type { CancelTimer, Clock } from '../../support/clock.js';
import { isError } from '../../support/error-text.js';
import { keepNewest } from '../../support/keep-newest.js';
import { inNoContext } from '../../support/no-context.js';

/**
 * Finds the addresses of host names, for all clients of a process. Node.js has two threads for lookups by default, and
 * no lookup can be cancelled. A name server that does not answer keeps a thread for tens of seconds, and two of them
 * stop the lookups of the application too. So the names are looked up one after another, each at most once at a time.
 * While a lookup hangs, the second thread is taken only for a name whose name servers answer, and one name at a time.
 */
export class HostNames {
  readonly #services: NameServices;
  readonly #clock: Clock;
  /** In the order in which they were asked for. */
  readonly #lookups = new Map<string, Lookup>();
  /** The result of the last lookup of each name that succeeded. */
  readonly #known = new Map<string, readonly Address[]>();

  constructor(services: NameServices, clock: Clock) {
    this.#services = services;
    this.#clock = clock;
  }

  /**
   * Looks a name up, or joins the lookup that is under way.
   *
   * @param answered called in a later turn, when `answer` is there
   */
  ask(name: string, answered: () => void): Question {
    const asker: Asker = { answer: undefined, answered };
    const lookup: Lookup = this.#lookups.get(name) ?? { name, askers: new Set(), stage: { at: 'waiting' } };
    lookup.askers.add(asker);
    this.#lookups.set(name, lookup);
    inNoContext(() => this.#beginNext());
    return {
      get answer() {
        return asker.answer;
      },
      withdraw: () => this.#withdraw(lookup, asker),
    };
  }

  /** The result of the last lookup of `name` that succeeded. */
  lastOf(name: string): readonly Address[] | undefined {
    return this.#known.get(name);
  }

  #beginNext(): void {
    const lookups = [...this.#lookups.values()];
    const running = lookups.filter(({ stage }) => stage.at === 'running');
    const sure = lookups.find(({ stage }) => stage.at === 'sure');
    const next = sure ?? lookups.find(({ stage }) => stage.at !== 'running');
    if (next === undefined) return;
    if (running.length === 0) this.#begin(next);
    else if (running.length < mostAtOnce && running.every(({ stage }) => stage.at === 'running' && stage.hangs)) {
      if (sure) this.#begin(sure);
      else for (const lookup of lookups) if (lookup.stage.at === 'waiting') this.#probe(lookup);
    }
  }

  #begin(lookup: Lookup): void {
    if (lookup.stage.at === 'probed') lookup.stage.cancel();
    const stage: Stage = { at: 'running', hangs: false };
    lookup.stage = stage;
    const cancel = this.#clock.after(hangsAfterMs, () => {
      stage.hangs = true;
      this.#beginNext();
    });
    this.#services.lookup(lookup.name).then(
      (addresses) => this.#ended(lookup, cancel, { is: 'found', addresses }),
      (error: unknown) => this.#ended(lookup, cancel, this.#failure(lookup.name, error)),
    );
  }

  #probe(lookup: Lookup): void {
    const isServed = (): void => {
      lookup.stage = { at: 'sure' };
      this.#beginNext();
    };
    lookup.stage = { at: 'probed', cancel: this.#services.probe(lookup.name, isServed) };
  }

  /** If the name servers cannot be reached, what they said last is the best that is known. */
  #failure(name: string, error: unknown): Answer {
    const known = this.#known.get(name);
    const isPassing = isError(error) && 'code' in error && error.code === 'EAI_AGAIN';
    return isPassing && known ? { is: 'found', addresses: known } : { is: 'failed', error };
  }

  #ended(lookup: Lookup, cancel: CancelTimer, answer: Answer): void {
    cancel();
    this.#lookups.delete(lookup.name);
    if (answer.is === 'found') keepNewest(this.#known, lookup.name, answer.addresses, mostKnown);
    this.#beginNext();
    for (const asker of lookup.askers) {
      asker.answer = answer;
      asker.answered();
    }
  }

  /** Only a lookup that has begun goes on without askers. */
  #withdraw(lookup: Lookup, asker: Asker): void {
    lookup.askers.delete(asker);
    if (lookup.askers.size > 0 || lookup.stage.at === 'running') return;
    if (lookup.stage.at === 'probed') lookup.stage.cancel();
    this.#lookups.delete(lookup.name);
  }
}

/** The lookups of this machine. */
export interface NameServices {
  /** Resolves with at least one address. It takes a thread, and cannot be cancelled. */
  lookup(name: string): Promise<readonly Address[]>;
  /**
   * Calls `isServed` in a later turn if a lookup of the name can be expected to end soon, with or without addresses. It
   * takes no thread from the lookups. Returns a function that ends it.
   */
  probe(name: string, isServed: () => void): () => void;
}

export interface Address {
  readonly address: string;
  readonly family: number;
}

export interface Question {
  /** Undefined while the lookup is pending. */
  readonly answer: Answer | undefined;
  /** The answer is not needed any more. */
  withdraw(): void;
}

export type Answer =
  { readonly is: 'found'; readonly addresses: readonly Address[] } | { readonly is: 'failed'; readonly error: unknown };

/** A name that is looked up now or later. */
interface Lookup {
  readonly name: string;
  readonly askers: Set<Asker>;
  stage: Stage;
}

/** `probed`: its name servers have not answered yet. `sure`: they have. */
type Stage =
  | { readonly at: 'waiting' }
  | { readonly at: 'probed'; readonly cancel: () => void }
  | { readonly at: 'sure' }
  | { readonly at: 'running'; hangs: boolean };

interface Asker {
  answer: Answer | undefined;
  readonly answered: () => void;
}

/** Node.js makes two lookups at once, unless UV_THREADPOOL_SIZE says otherwise. */
const mostAtOnce = 2;
const hangsAfterMs = 250;
/** A program may get ever new names from a service registry. */
const mostKnown = 1_000;
