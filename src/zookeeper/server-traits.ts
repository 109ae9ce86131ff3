/**
 * What a client has learned about its servers, over all of its sessions. Some servers that speak ZooKeeper's protocol do
 * not have all of it: older ones, ClickHouse Keeper, and filters between the client and the server.
 */
export class ServerTraits {
  readonly #now: () => number;
  #suspect: { readonly operation: string; readonly times: number } | undefined;
  readonly #fatal = new Map<string, number>();
  #otherSessions = 0;
  /** True if a connection was answered with another session than the one that was to be resumed. */
  forgetsSessions = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * The server ended a connection while this operation was the oldest without an answer. Returns true if that was the
   * third time in a row: the server ends each connection on which it gets the operation.
   */
  endedAt(operation: string): boolean {
    const times = this.#suspect?.operation === operation ? this.#suspect.times + 1 : 1;
    this.#suspect = { operation, times };
    if (times < enoughTimes) return false;
    this.#suspect = { operation, times: enoughTimes - 1 };
    const isNew = !this.#fatal.has(operation);
    this.#fatal.set(operation, this.#now());
    return isNew;
  }

  /** A server answered the operation. */
  answered(operation: string): void {
    if (this.#suspect?.operation === operation) this.#suspect = undefined;
    if (this.#fatal.size > 0) this.#fatal.delete(operation);
  }

  /** True if the operation must not be sent. Once in a while it is tried again, because servers are upgraded. */
  endsConnections(operation: string): boolean {
    if (this.#fatal.size === 0) return false;
    const knownSince = this.#fatal.get(operation);
    return knownSince !== undefined && this.#now() - knownSince < tryAgainMs;
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

const enoughTimes = 3;
const tryAgainMs = 60_000;
