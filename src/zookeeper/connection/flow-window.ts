import { divisors } from '../network/timeout-parts.js';
import type { Operation } from '../wire/operations.js';
import type { Call } from '../wire/replies.js';

/**
 * The number of requests that may be in flight on one connection, without I/O and timers. A server answers in the order
 * of the requests, so each request waits for all that were sent before it. If thousands were sent at once, the session's
 * heartbeats would wait behind them, and no proof would arrive before the deadline although the server answers all the
 * time (docs/evidence.md: a burst loses no lock).
 *
 * The window follows the measured pace: it grows while a request waits less than half of the longest wait behind the
 * others, and shrinks when one waits longer. The round trip itself is no wait. A request with few others beside it waits
 * for none, so it tells nothing about the pace: otherwise a calm hour of heartbeats would let a burst go out at once.
 *
 * Times are monotonic milliseconds.
 */
export class FlowWindow {
  #size = firstSize;
  /** The shortest time from a request to its answer on this connection: the round trip. */
  #roundTripMs = Infinity;
  /** Requests that were sent before this time were sent at the size `#judged`, or a smaller one. */
  #judgedFrom = -Infinity;
  #judged = firstSize;

  /** The number of requests that may be unanswered at once. */
  get size(): number {
    return Math.floor(this.#size);
  }

  /** A request that was sent at `sentAt` was answered at `now`. `inFlight`: the number of requests until then. */
  answered(sentAt: number, now: number, timeoutMs: number, inFlight: number): void {
    const tookMs = now - sentAt;
    this.#roundTripMs = Math.min(this.#roundTripMs, tookMs);
    const waitedMs = tookMs - this.#roundTripMs;
    const longestMs = timeoutMs / divisors.waitBehindOthers;
    if (waitedMs < longestMs / 2) {
      if (inFlight >= this.#size / 2) this.#size = Math.min(largest, this.#size + 1);
    } else if (waitedMs > longestMs) {
      if (sentAt >= this.#judgedFrom) {
        this.#judgedFrom = now;
        this.#judged = this.#size;
      }
      // The first request that waits too long does so hardly. Those behind it tell by how much the pace has fallen.
      this.#size = Math.min(this.#size, Math.max(smallest, (this.#judged * longestMs) / waitedMs));
    }
  }
}

const firstSize = 128;
const smallest = 16;
/** Node.js reads all answers that have arrived in one turn of the event loop: those of 4,096 requests took 0.5 s. */
const largest = 1_024;

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
