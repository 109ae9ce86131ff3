/**
 * The facts that a client has learned about its servers, over all of its sessions. Some servers that speak ZooKeeper's
 * protocol do not have all of it: older ones, ClickHouse Keeper, and filters between the client and the server.
 */
export class ServerTraits {
  readonly #now: () => number;
  /** `servers`: those that ended a connection at the operation, one after another. */
  #suspect: { readonly operation: string; readonly servers: readonly string[] } | undefined;
  readonly #fatal = new Map<string, Fatal>();
  readonly #answered = new Set<string>();
  #otherSessions = 0;
  /** True if a connection was answered with another session than the one that was to be resumed. */
  forgetsSessions = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The server ended a connection while these operations had no answer, the oldest first. The suspect is one that no
   * server has ever answered: the first of those that some servers lack, or else the newest. Returns the suspect if it
   * was so three times in a row: the servers end each connection on which they get it. For a transaction, which was
   * answered before, that takes twice as many: the network may end connections too, and without transactions no session
   * can prove that it lives.
   */
  endedAt(operations: readonly string[], server: string): string | undefined {
    const unknown = operations.filter((each) => !this.#answered.has(each));
    const operation = unknown.find((each) => oftenMissing.has(each)) ?? unknown.at(-1) ?? operations[0];
    if (operation === undefined) return undefined;
    const earlier = this.#suspect?.operation === operation ? this.#suspect.servers : [];
    const enoughTimes = operation === 'multi' && this.#answered.has(operation) ? 2 * usualTimes : usualTimes;
    const servers = [...earlier, server].slice(-enoughTimes);
    this.#suspect = { operation, servers };
    if (servers.length < enoughTimes) return undefined;
    this.#suspect = { operation, servers: servers.slice(1) };
    const before = this.#fatal.get(operation);
    const pauseMs = before ? Math.min(before.pauseMs * 2, longestPauseMs) : firstPauseMs;
    this.#fatal.set(operation, { until: this.#now() + pauseMs, pauseMs });
    return before ? undefined : operation;
  }

  /** The server granted no session: it stopped or broke down, which ended its connections too. */
  gaveNoSession(server: string): void {
    if (this.#suspect?.servers.includes(server)) this.#suspect = undefined;
  }

  /** A server answered the operation. */
  answered(operation: string): void {
    if (this.#suspect?.operation === operation) this.#suspect = undefined;
    this.#answered.add(operation);
    if (this.#fatal.size > 0) this.#fatal.delete(operation);
  }

  /** True if the operation must not be sent. Once in a while it is tried again, because servers are upgraded. */
  endsConnections(operation: string): boolean {
    const fatal = this.#fatal.size > 0 ? this.#fatal.get(operation) : undefined;
    return fatal !== undefined && this.#now() < fatal.until;
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

/** An operation that ends connections. Times in monotonic milliseconds. */
interface Fatal {
  /** The operation is not sent before this time. */
  readonly until: number;
  readonly pauseMs: number;
}

/** Operations that are missing in older servers, in ClickHouse Keeper, or in filters. */
const oftenMissing: ReadonlySet<string> = new Set([
  'create2',
  'createContainer',
  'multi',
  'setWatches',
  'removeWatches',
  'addWatch',
]);

const usualTimes = 3;
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;
