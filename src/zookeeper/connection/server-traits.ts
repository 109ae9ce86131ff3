import type { Operation } from '../wire/operations.js';
import { longestUsual, UnknownRequestError } from '../wire/zookeeper-error.js';

/**
 * The facts that a client has learned about its servers, over all of its sessions. Some servers that speak ZooKeeper's
 * protocol do not have all of it: older ones, ClickHouse Keeper, and filters between the client and the server.
 */
export class ServerTraits {
  readonly #now: () => number;
  #suspect: Suspect | undefined;
  /** How much of the evidence against the suspect is from the last end. */
  #lastWeight = 0;
  /** The kinds that were in flight when the last connection ended, and had no answer since. */
  #unanswered = new Set<string>();
  readonly #fatal = new Map<string, Fatal>();
  readonly #answered = new Set<string>();
  #longestAnswered = 0;
  #doubt: Doubt | undefined;
  #otherSessions = 0;
  /** The session timeout that the servers granted last, in milliseconds. They may grant less or more than is asked for. */
  grantedMs: number | undefined;
  /** True if a connection was answered with another session than the one that was to be resumed. */
  forgetsSessions = false;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * A connection has ended while these requests had no answer, the oldest first. The suspect is the one that the server
   * does not know, if it said so. Or else it is one that no server has ever answered: the longest one, if it is longer
   * than all that were answered, or the first of those that some servers lack. Or else it is the last suspect, as long as
   * that has no answer, because other requests were on their way beside it. Or else it is one that was also in flight at
   * the last end, or the newest that no server has ever answered. Returns the reason if the evidence is enough, as after
   * three such ends in a row, two of them by one server.
   */
  endedAt(requests: readonly SentRequest[], server: string, treatment?: Treatment): Lack | undefined {
    const hasPassedOver = treatment === 'passed over';
    const said = hasPassedOver ? undefined : treatment;
    const again = requests.find((each) => this.#unanswered.has(kindOf(each)));
    this.#unanswered = new Set(requests.map(kindOf));
    this.#lastWeight = 0;
    if (!said && this.#isAmbiguous(requests)) {
      this.#endedAmbiguously(requests);
      return undefined;
    }
    const unknown = requests.filter((each) => !this.#isKnown(each));
    const longest = unknown.filter(isLong).sort((a, b) => b.bytes - a.bytes)[0];
    const last = requests.find(({ name }) => name === this.#suspect?.kind);
    const suspect = longest ?? unknown.find(isOftenMissing) ?? last ?? again ?? unknown.at(-1) ?? requests[0];
    const why = said ?? (suspect && endOf(suspect, server, hasPassedOver));
    if (why === undefined) return undefined;
    const kind = why.bytes > 0 ? long : why.operation;
    const earlier = this.#suspect?.kind === kind ? this.#suspect : undefined;
    const weight = suspect && !said ? this.#weightOf(suspect, requests) : usualWeight;
    const ends = [...(earlier?.ends ?? []), why].slice(-enoughEvidence);
    const evidence = weight + (earlier?.evidence ?? 0);
    this.#lastWeight = weight;
    this.#suspect = { kind, ends, evidence };
    if (evidence < enoughEvidence || (treatment === undefined && !mayBeBlamed(ends))) {
      if (evidence > usualWeight && !hasPassedOver && suspect && !this.#isKnown(suspect))
        this.#doubtOnly(kind, why.bytes);
      return undefined;
    }
    this.#suspect = { kind, ends, evidence: enoughEvidence - usualWeight / 2 };
    this.#doubt = undefined;
    const before = this.#fatal.get(kind);
    const bytes = Math.min(before?.bytes ?? Infinity, ...ends.map((end) => end.bytes));
    const pauseMs = before ? Math.min(before.pauseMs * 2, longestPauseMs) : firstPauseMs;
    const byServer = new Map(before?.byServer);
    for (const end of ends) byServer.set(end.server, end);
    this.#fatal.set(kind, { until: this.#now() + pauseMs, pauseMs, bytes, byServer });
    return { why, isNews: !before };
  }

  /** True if connections have ended, one after another, while several requests were in flight that servers had answered before. */
  get isCareful(): boolean {
    return this.#doubt !== undefined && this.#doubt.ends >= fewEnds;
  }

  /**
   * True if such a request is to be sent while no other is in flight, so that the next end of a connection shows whether
   * it is the cause. The length of a change is not known before it is written.
   */
  goesAlone({ name, kind }: Pick<Operation<unknown>, 'name' | 'kind'>): boolean {
    const candidates = this.isCareful ? this.#doubt?.candidates : undefined;
    return candidates !== undefined && (candidates.has(name) || (kind === 'write' && candidates.has(long)));
  }

  /**
   * True if a request may be sent beside one that goes alone: a proof, if servers have answered proofs and never the other
   * request. At the end of the connection, the other request is blamed all the same. If the proof waited for its answer, a
   * hold could be lost.
   */
  goesBeside({ name, isProof }: Pick<Operation<unknown>, 'name' | 'isProof'>, alone: SentRequest): boolean {
    return isProof === true && this.#answered.has(name) && !this.#isKnown(alone);
  }

  /** If a kind of request ends connections, it was in flight at each of these ends. Of long requests, it is the longest. */
  #endedAmbiguously(requests: readonly SentRequest[]): void {
    const inFlight = new Map<string, number>();
    for (const each of requests) {
      const kind = kindOf(each);
      inFlight.set(kind, kind === long ? Math.max(each.bytes, inFlight.get(kind) ?? 0) : 0);
    }
    // Something else ends connections, or the suspect waits until it can go alone.
    if (this.#suspect && !inFlight.has(this.#suspect.kind)) this.#tellsLess(usualWeight / 2);
    const earlier = this.#doubt;
    const again = [...inFlight].filter(([kind]) => earlier?.candidates.has(kind));
    const both = again.map(([kind, bytes]) => [kind, Math.min(bytes, earlier?.candidates.get(kind) ?? bytes)] as const);
    this.#doubt =
      earlier && both.length > 0
        ? { ends: earlier.ends + 1, candidates: new Map(both), answers: 0 }
        : { ends: 1, candidates: inFlight, answers: 0 };
  }

  /** A proof that servers have answered is not suspected beside another request, nor is another beside a newcomer. */
  #isAmbiguous(requests: readonly SentRequest[]): boolean {
    const isKnown = (each: SentRequest): boolean => this.#isKnown(each);
    const suspects = requests.filter((each) => isLong(each) || !proofs.has(each.name) || !isKnown(each));
    const isMarked = (each: SentRequest): boolean => isLong(each) || isOftenMissing(each);
    return suspects.length > 1 && suspects.some(isKnown) && !suspects.some((each) => isMarked(each) && !isKnown(each));
  }

  /**
   * How much an end tells against the suspect. It is half beside a transaction that servers know, if they know the suspect
   * as well, or if the transaction was sent first and has no answer: the network may have ended the connection, and
   * without transactions no session can prove that it lives.
   */
  #weightOf(suspect: SentRequest, requests: readonly SentRequest[]): number {
    const others = this.#isKnown(suspect) ? requests : requests.slice(0, requests.indexOf(suspect));
    const mayBeNetwork = !isLong(suspect) && others.some((each) => each.name === 'multi' && this.#isKnown(each));
    return mayBeNetwork ? usualWeight / 2 : usualWeight;
  }

  #isKnown(request: SentRequest): boolean {
    return isLong(request) ? request.bytes <= this.#longestAnswered : this.#answered.has(request.name);
  }

  /**
   * The server granted no session: it stopped or broke down, which ended its connections too. Or the servers have no
   * leader, which ended the connections of all.
   */
  gaveNoSession(server: string): void {
    if (this.#suspect?.ends.some((end) => end.server === server)) this.#suspect = undefined;
    this.sessionExpired();
  }

  /** The servers had ended the session, which may have ended its last connection. */
  sessionExpired(): void {
    this.#tellsLess(this.#lastWeight / 2);
    this.#lastWeight = 0;
  }

  #tellsLess(by: number): void {
    const evidence = (this.#suspect?.evidence ?? 0) - by;
    this.#suspect = this.#suspect && evidence > 0 ? { ...this.#suspect, evidence } : undefined;
  }

  /** A server answered the operation, whose request had this length. */
  answered(operation: string, bytes: number): void {
    if (bytes > longestUsual) this.#answeredLong(bytes);
    if (this.#suspect?.kind === operation) this.#suspect = undefined;
    this.#answered.add(operation);
    this.#unanswered.delete(kindOf({ name: operation, bytes }));
    if (this.#doubt) this.#clear(this.#doubt, { name: operation, bytes });
    if (this.#fatal.size > 0) this.#fatal.delete(operation);
  }

  /** A kind that had an answer does not end connections. The wait for a rare kind is limited. */
  #clear(doubt: Doubt, request: SentRequest): void {
    const kind = kindOf(request);
    if (request.bytes >= (doubt.candidates.get(kind) ?? Infinity)) doubt.candidates.delete(kind);
    doubt.answers += 1;
    if (doubt.candidates.size === 0 || doubt.answers >= enoughAnswers) this.#doubt = undefined;
  }

  #answeredLong(bytes: number): void {
    this.#longestAnswered = Math.max(this.#longestAnswered, bytes);
    if (this.#suspect?.kind === long && this.#suspect.ends.some((end) => end.bytes <= bytes)) this.#suspect = undefined;
    if (bytes >= (this.#fatal.get(long)?.bytes ?? Infinity)) this.#fatal.delete(long);
  }

  /**
   * The reason why a request must not be sent to this server; undefined if it may be. Once in a while it is tried again,
   * because servers are upgraded.
   *
   * @param bytes its length, or 0 if that is not known
   */
  whyNotToSend(operation: string, bytes: number, server: string): UnknownRequestError | undefined {
    if (this.#fatal.size === 0) return undefined;
    const request = { name: operation, bytes };
    const kind = kindOf(request);
    const fatal = this.#fatal.get(kind);
    if (fatal === undefined || bytes < fatal.bytes) return undefined;
    if (this.#now() < fatal.until) {
      const end = fatal.byServer.get(server);
      return end && isLong(request) ? endOf(request, server) : end;
    }
    // Tried again, so one end of a connection is enough.
    this.#doubtOnly(kind, fatal.bytes);
    return undefined;
  }

  /** The next of these requests goes alone. */
  #doubtOnly(kind: string, bytes: number): void {
    this.#doubt = { ends: fewEnds, candidates: new Map([[kind, bytes]]), answers: 0 };
  }

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

/** The server said that it does not know a request, or answered a later one, as if it had not read it. */
export type Treatment = UnknownRequestError | 'passed over';

/** A request that was sent. `bytes` is its length if it is a change, and else 0. */
export interface SentRequest {
  readonly name: string;
  readonly bytes: number;
}

/** An operation, or a length of requests, that the servers lack. */
export interface Lack {
  readonly why: UnknownRequestError;
  /** False if it was known before. */
  readonly isNews: boolean;
}

/** Connections have ended, one after another, with several suspects. */
interface Doubt {
  readonly ends: number;
  /** The kinds that were in flight each time, and had no answer since, with the length of the long ones; else 0. */
  readonly candidates: Map<string, number>;
  /** The number of answers since the last end. */
  answers: number;
}

/** The kind of request at which the last connections ended, one after another. */
interface Suspect {
  readonly kind: string;
  readonly ends: readonly UnknownRequestError[];
  readonly evidence: number;
}

/** A kind of request that ends connections. Times in monotonic milliseconds. */
interface Fatal {
  /** Such requests are not sent before this time. */
  readonly until: number;
  readonly pauseMs: number;
  /** The least length of such requests. 0 unless they are long. */
  readonly bytes: number;
  /** The servers that lack it, by `host:port`. */
  readonly byServer: ReadonlyMap<string, UnknownRequestError>;
}

/** The kind of all longer changes. */
const long = 'long';

function isLong({ bytes }: SentRequest): boolean {
  return bytes > longestUsual;
}

function kindOf(request: SentRequest): string {
  return isLong(request) ? long : request.name;
}

function endOf(request: SentRequest, server: string, isPassedOver = false): UnknownRequestError {
  const bytes = isLong(request) ? request.bytes : 0;
  const how = isPassedOver ? 'does not answer' : 'ends each connection on which it gets';
  return new UnknownRequestError(server, request.name, how, bytes);
}

/** Servers that break down one after another end their connections too. One that ends two of them has come back. */
function mayBeBlamed(ends: readonly UnknownRequestError[]): boolean {
  return ends.length === enoughEvidence || new Set(ends.map(({ server }) => server)).size < ends.length;
}

function isOftenMissing({ name }: SentRequest): boolean {
  return oftenMissing.has(name);
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
const usualWeight = 2;
const enoughEvidence = 3 * usualWeight;
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;
