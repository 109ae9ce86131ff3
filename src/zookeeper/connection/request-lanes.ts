import type { Operation } from '../wire/operations.js';
import type { Call } from '../wire/replies.js';

/**
 * The requests that wait for room in the window of their connection. What keeps a session alive goes first, then what
 * lets others go on, and then the rest. Each lane keeps the order of the calls. A create and the list behind it are in
 * the same lane, so the list still covers the create.
 */
export class RequestLanes {
  readonly #lanes: Readonly<Record<Lane, Queue>> = { proof: new Queue(), release: new Queue(), usual: new Queue() };
  #size = 0;

  get isEmpty(): boolean {
    return this.#size === 0;
  }

  add(call: Call): void {
    this.#lanes[laneOf(call.operation)].add(call);
    this.#size += 1;
  }

  /** The request that `next` removes. */
  get first(): Call | undefined {
    const { proof, release, usual } = this.#lanes;
    return this.#size === 0 ? undefined : (proof.first ?? release.first ?? usual.first);
  }

  next(): Call | undefined {
    const { proof, release, usual } = this.#lanes;
    const call = proof.next() ?? release.next() ?? usual.next();
    if (call) this.#size -= 1;
    return call;
  }

  /** Removes all, in the order in which they would have been sent. */
  takeAll(): Call[] {
    const all: Call[] = [];
    for (let call = this.next(); call; call = this.next()) all.push(call);
    return all;
  }
}

type Lane = 'proof' | 'release' | 'usual';

/**
 * A proof is a check of znodes, or a sync. A release deletes or marks a znode that exists, ends the session, or is a
 * transaction, which a later delete of the holder's znode must not overtake. The removal of a watch is one, too: a waiter
 * that leaves removes its watches before it deletes its znode. The read that plants a watch looks before it is sent
 * whether anybody still wants it.
 */
function laneOf({ name, kind, isProof }: Operation<unknown>): Lane {
  if (isProof || kind === 'sync' || name === 'setWatches') return 'proof';
  return releases.has(name) ? 'release' : 'usual';
}

const releases: ReadonlySet<string> = new Set(['delete', 'setData', 'multi', 'closeSession', 'removeWatches']);

/** First in, first out. Removing the first of ten thousand costs as little as removing the first of ten. */
class Queue {
  #calls: Call[] = [];
  #at = 0;

  get first(): Call | undefined {
    return this.#calls[this.#at];
  }

  add(call: Call): void {
    this.#calls.push(call);
  }

  next(): Call | undefined {
    const call = this.first;
    if (call === undefined) return undefined;
    this.#at += 1;
    if (this.#at === this.#calls.length || this.#at >= longestRest) {
      this.#calls = this.#calls.slice(this.#at);
      this.#at = 0;
    }
    return call;
  }
}

const longestRest = 1_024;
