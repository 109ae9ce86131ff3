import type { Address } from '../network/host-names.js';
import { SaslRefusal } from '../wire/sasl-handshake.js';

/**
 * The record of the servers of the connect string since one of them last served the session. It answers three
 * questions: how long the client pauses before it tries them again, whether they refuse its account, and whether each
 * was tried and none answered.
 */
export class HostHistory {
  #names: readonly string[];
  readonly #failures = new Map<string, unknown>();
  readonly #lookups = new Map<string, Lookup>();
  /** The latest attempts without an answer: true if a server accepted the connection. */
  #unanswered: boolean[] = [];
  /** The number of rounds, since the last connection, in which an attempt ran out of time. */
  unansweredRounds: number;
  #hasRunOut = false;
  #failedRounds = 0;
  #wasServed = false;
  #wasGranted = false;
  #resetAt = -Infinity;

  /** @param names the servers by `host:port`, in the order in which they are tried */
  constructor(names: readonly string[], unansweredRounds = 0) {
    this.#names = names;
    this.unansweredRounds = unansweredRounds;
  }

  /** The servers are others from now on. */
  follow(names: readonly string[]): void {
    this.#names = names;
    this.#unanswered.length = 0;
    for (const known of [this.#failures, this.#lookups])
      for (const name of known.keys()) if (!names.includes(name)) known.delete(name);
  }

  /**
   * Begins a round over the servers. Returns the pause before it, in milliseconds: at most `mostMs`, unless a server
   * granted the session in the last round, because a server that grants it and then ends the connection must not be
   * dialled more often.
   */
  beginRound(now: number, random: number, mostMs = Infinity): number {
    if (this.#hasRunOut) this.unansweredRounds += 1;
    this.#hasRunOut = false;
    // At most once in a while, because a server that serves one request and then ends each connection would be dialled
    // without a pause.
    if (this.#wasServed && now - this.#resetAt >= resetEveryMs) {
      this.#failedRounds = 0;
      this.#resetAt = now;
    }
    this.#wasServed = false;
    const pauseMs = roundDelayMs(this.#failedRounds++, random);
    const isLimited = !this.#wasGranted;
    this.#wasGranted = false;
    return isLimited ? Math.min(pauseMs, mostMs) : pauseMs;
  }

  /** Begins an attempt to connect to `name`, which stands for these addresses; none if it is an IP address. */
  dial(name: string, addresses: readonly Address[]): void {
    this.#lookups.set(name, { known: addresses, refusing: this.#lookups.get(name)?.refusing ?? new Set() });
  }

  /** The attempt took all of its time. */
  ranOut(): void {
    this.#hasRunOut = true;
  }

  /** The attempt ended without an answer to its ConnectRequest. */
  unanswered(wasAccepted: boolean): void {
    this.#unanswered.push(wasAccepted);
    // The servers are tried in turn, so this many attempts in a row include each server once.
    if (this.#unanswered.length > this.#names.length) this.#unanswered.shift();
  }

  /**
   * The connection to this server, or the attempt to connect, ended with an error.
   *
   * @param refusing its address, if no further attempt there can succeed
   */
  failed(name: string, error: unknown, refusing?: string): void {
    this.#failures.set(name, error);
    // By its name, because an attempt to move to this server may end while the next one of the list is dialled.
    if (refusing !== undefined) this.#lookups.get(name)?.refusing.add(refusing);
  }

  /** The server of this attempt refused the account. Returns true if that was not its last failure already. */
  refused(name: string, why: SaslRefusal, address: string | undefined): boolean {
    const isFirst = !(this.#failures.get(name) instanceof SaslRefusal);
    this.#failures.delete(name); // The last refusal is the last one of the map.
    this.failed(name, why, address);
    return isFirst;
  }

  /** A server granted the session. It may still end the connection at the first request. */
  granted(): void {
    this.#wasGranted = true;
    this.unansweredRounds = 0;
    this.#hasRunOut = false;
    this.#unanswered = [];
  }

  /** A server did what the session asked for. An error that ends the connection is no service. */
  served(): void {
    this.#wasServed = true;
    if (this.#failures.size === 0) return;
    this.#failures.clear();
    for (const { refusing } of this.#lookups.values()) refusing.clear();
  }

  /** The last error of each server that was tried since a server served the session, by `host:port`. */
  get failures(): ReadonlyMap<string, unknown> {
    return this.#failures;
  }

  /** The last reason why a server refused the account, since a server served the session. */
  get refusal(): SaslRefusal | undefined {
    return [...this.#failures.values()].findLast((failure) => failure instanceof SaslRefusal);
  }

  /** True if the last failure of each server is a refusal of the account, by all of its addresses. */
  get haveAllRefused(): boolean {
    return this.haveAllFailed((failure) => failure instanceof SaslRefusal);
  }

  /** True if the last failure of each server is of this kind, at all of its addresses. */
  haveAllFailed(isOfKind: (failure: unknown) => boolean): boolean {
    return this.#names.every((name) => isOfKind(this.#failures.get(name)) && isRefusedByAll(this.#lookups.get(name)));
  }

  /**
   * True if no further attempt can succeed. A server that cannot be reached may still accept the account, and the
   * session may hold locks. But each ConnectRequest extends the session, and the znodes of a session that nobody can use
   * block their queues. So it ends after one session timeout in which no server answered it. A session with holds is
   * past its deadline by then. A missing ticket may be there in time, so it ends only a session that no server has
   * served yet.
   */
  isRefusedForGood({ now, heardAt, createdAt, timeoutMs }: Hearing): boolean {
    const { refusal } = this;
    const mayStillGetTicket = refusal?.why === 'no-ticket' && heardAt > 0;
    if (!mayStillGetTicket && this.haveAllRefused) return true;
    return refusal !== undefined && now - Math.max(heardAt, createdAt) >= timeoutMs;
  }

  /** True if every server was tried, one after another, and none answered the ConnectRequest. */
  get areAllSilent(): boolean {
    return this.#unanswered.length === this.#names.length;
  }

  /**
   * True if `areAllSilent`, and one of the servers accepted the connection. A server with older data does so, and never
   * says that the session has ended. A server in an election, a throttled and a read-only server do the same.
   */
  get isRefused(): boolean {
    return this.areAllSilent && this.#unanswered.includes(true);
  }
}

/** Times in monotonic milliseconds. */
interface Hearing {
  readonly now: number;
  /** The time of the last answer to the session; 0 for none. */
  readonly heardAt: number;
  readonly createdAt: number;
  readonly timeoutMs: number;
}

/** The addresses of a host at its last attempt. Each may be another server. */
interface Lookup {
  readonly known: readonly Address[];
  readonly refusing: Set<string>;
}

/** In this time, a server that serves and ends every connection gets at most 14 of them. */
const resetEveryMs = 5_000;

/**
 * The pause before a round over the servers, in milliseconds: none before the first round, then 50 ms, doubling up to a
 * second, randomized.
 */
export function roundDelayMs(failedRounds: number, random: number): number {
  if (failedRounds === 0) return 0;
  return Math.min(1_000, 50 * 2 ** Math.min(failedRounds - 1, 10)) * (0.5 + random / 2);
}

/** True if all addresses of one family refused: this machine may reach only one. An IP address is not looked up. */
function isRefusedByAll(lookup: Lookup | undefined): boolean {
  if (lookup === undefined || lookup.known.length === 0) return true;
  const others = lookup.known.filter(({ address }) => !lookup.refusing.has(address));
  const familiesOfOthers = new Set(others.map(({ family }) => family));
  return lookup.known.some(({ family }) => !familiesOfOthers.has(family));
}
