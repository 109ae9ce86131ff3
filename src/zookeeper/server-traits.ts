import { UnknownRequestError } from './unknown-request-error.js';

/**
 * The facts that a client has learned about its servers, over all of its sessions. Some servers that speak ZooKeeper's
 * protocol do not have all of it: older ones, ClickHouse Keeper, and filters between the client and the server.
 */
export class ServerTraits {
  readonly #now: () => number;
  /** The operation at which the last connections ended, one after another. */
  #suspect: { readonly operation: string; readonly ends: readonly UnknownRequestError[] } | undefined;
  readonly #fatal = new Map<string, Fatal>();
  readonly #answered = new Set<string>();
  /** The connections that ended, one after another, with several suspects. */
  #ambiguousEnds = 0;
  #answersSince = 0;
  #otherSessions = 0;
  /** True if a connection was answered with another session than the one that was to be resumed. */
  forgetsSessions = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * A connection has ended while these operations had no answer, the oldest first. The suspect is the one that the
   * server does not know, if it `said` so. Or else it is one that no server has ever answered: the first of those that
   * some servers lack, or else the newest. Returns the reason if it was so three times in a row. For a transaction, which
   * was answered before, that takes twice as many unless the server said so: the network may end connections too, and
   * without transactions no session can prove that it lives.
   */
  endedAt(operations: readonly string[], server: string, said: UnknownRequestError | undefined): Lack | undefined {
    if (!said && this.#isAmbiguous(operations)) {
      this.#ambiguousEnds += 1;
      this.#answersSince = 0;
      return undefined;
    }
    const unknown = operations.filter((each) => !this.#answered.has(each));
    const operation =
      said?.operation ?? unknown.find((each) => oftenMissing.has(each)) ?? unknown.at(-1) ?? operations[0];
    if (operation === undefined) return undefined;
    const why = said ?? new UnknownRequestError(server, operation, 'ends each connection on which it gets');
    const earlier = this.#suspect?.operation === operation ? this.#suspect.ends : [];
    const mayBeNetwork = !said && operation === 'multi' && this.#answered.has(operation);
    const enoughTimes = mayBeNetwork ? 2 * usualTimes : usualTimes;
    const ends = [...earlier, why].slice(-enoughTimes);
    this.#suspect = { operation, ends };
    if (ends.length < enoughTimes) return undefined;
    this.#suspect = { operation, ends: ends.slice(1) };
    this.#ambiguousEnds = 0;
    const before = this.#fatal.get(operation);
    const pauseMs = before ? Math.min(before.pauseMs * 2, longestPauseMs) : firstPauseMs;
    const byServer = new Map(before?.byServer);
    for (const end of ends) byServer.set(end.server, end);
    this.#fatal.set(operation, { until: this.#now() + pauseMs, pauseMs, byServer });
    return { why, isNews: !before };
  }

  /**
   * True if requests are to be sent one by one: connections have ended while several were in flight that servers had
   * answered before. The next end shows which of them it is.
   */
  get isCareful(): boolean {
    return this.#ambiguousEnds >= fewEnds;
  }

  /** A proof that servers have answered is not suspected beside another request, nor is another beside a newcomer. */
  #isAmbiguous(operations: readonly string[]): boolean {
    const isKnown = (each: string): boolean => this.#answered.has(each);
    const suspects = operations.filter((each) => !proofs.has(each) || !isKnown(each));
    return (
      suspects.length > 1 &&
      suspects.some(isKnown) &&
      !suspects.some((each) => oftenMissing.has(each) && !isKnown(each))
    );
  }

  /** The server granted no session: it stopped or broke down, which ended its connections too. */
  gaveNoSession(server: string): void {
    if (this.#suspect?.ends.some((end) => end.server === server)) this.#suspect = undefined;
  }

  /** A server answered the operation. */
  answered(operation: string): void {
    if (this.#suspect?.operation === operation) this.#suspect = undefined;
    this.#answered.add(operation);
    if (this.#ambiguousEnds > 0 && (this.#answersSince += 1) >= enoughAnswers) this.#ambiguousEnds = 0;
    if (this.#fatal.size > 0) this.#fatal.delete(operation);
  }

  /**
   * The reason why the operation must not be sent to this server; undefined if it may be. Once in a while it is tried
   * again, because servers are upgraded.
   */
  whyNotToSend(operation: string, server: string): UnknownRequestError | undefined {
    const fatal = this.#fatal.size > 0 ? this.#fatal.get(operation) : undefined;
    if (fatal === undefined) return undefined;
    if (this.#now() < fatal.until) return fatal.byServer.get(server);
    // Tried again, alone, so that one end of a connection is enough.
    this.#ambiguousEnds = fewEnds;
    this.#answersSince = 0;
    return undefined;
  }

  /** A server resumed the session. */
  resumed(): void {
    this.#otherSessions = 0;
    this.forgetsSessions = false;
  }

  /**
   * A server granted another session than the one that was to be resumed. Returns true if that was the second time in a
   * row: the session has ended for these servers.
   */
  grantedOther(): boolean {
    this.#otherSessions += 1;
    this.forgetsSessions = true;
    if (this.#otherSessions < 2) return false;
    this.#otherSessions = 0;
    return true;
  }
}

/** An operation that the servers lack. */
export interface Lack {
  readonly why: UnknownRequestError;
  /** False if it was known before. */
  readonly isNews: boolean;
}

/** An operation that ends connections. Times in monotonic milliseconds. */
interface Fatal {
  /** The operation is not sent before this time. */
  readonly until: number;
  readonly pauseMs: number;
  /** The servers that lack it, by `host:port`. */
  readonly byServer: ReadonlyMap<string, UnknownRequestError>;
}

/** Operations that are missing in older servers, in ClickHouse Keeper, or in filters. */
const oftenMissing: ReadonlySet<string> = new Set([
  'create2',
  'createContainer',
  'multi',
  'setWatches',
  'removeWatches',
  'addWatch',
  'getEphemerals',
]);

const proofs: ReadonlySet<string> = new Set(['multi', 'sync']);

const fewEnds = 2;
/** After so many answers on one connection, the servers know what they are asked. */
const enoughAnswers = 64;
const usualTimes = 3;
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;
