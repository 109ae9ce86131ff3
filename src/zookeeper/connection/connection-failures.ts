import type { ConnectionOptions } from './connection-options.js';
import type { Dialler } from './dialler.js';
import type { Handshake } from './handshake.js';
import type { Pipeline } from './pipeline.js';
import type { SaslRefusal } from '../wire/sasl-handshake.js';
import type { ServerLink } from './server-link.js';
import { divisors } from '../network/timeout-parts.js';
import { explainTls } from '../network/tls-error.js';

/**
 * Why connections and attempts have ended: kept for the errors that a user sees, judged, and told to the dialler, which
 * avoids addresses that serve no session.
 */
export class ConnectionFailures {
  readonly #options: ConnectionOptions;
  readonly #session: FailingSession;
  readonly #dialler: Dialler;
  readonly #warn: (message: string, error: unknown) => void;
  readonly #createdAt: number;
  /** The reason why the last connection or attempt ended. */
  last: unknown;

  constructor(
    options: ConnectionOptions,
    session: FailingSession,
    dialler: Dialler,
    warn: (message: string, error: unknown) => void,
  ) {
    this.#options = options;
    this.#session = session;
    this.#dialler = dialler;
    this.#warn = warn;
    this.#createdAt = options.clock.now();
  }

  /** The attempt has ended before the session could be used. */
  ofAttempt({ link, wasAccepted, grantedOther }: Handshake, ended: Error | undefined, wasGranted: boolean): void {
    const { tls, traits } = this.#options;
    if (wasAccepted) this.#dialler.avoid(link);
    const error =
      ended && (tls || !isClosing(ended))
        ? ended
        : new Error(`${link.server} closed the connection${this.#guess()}`, ended && { cause: ended });
    this.of(link.server, tls ? explainTls(error, link.host, wasAccepted) : error);
    if (!wasGranted && !grantedOther) traits.gaveNoSession(link.server);
  }

  /**
   * The connection has ended. A server that ends each connection on which it gets an operation gets it no more. It does
   * so as soon as it reads the operation. So the end of a silent connection is an outage. The same for an operation that
   * the server passes over, so that its next answer is not the one that is due.
   */
  ofConnection({ link, unanswered, unansweredSince, unknown, treatment }: Pipeline, ended: Error | undefined): void {
    const { traits, clock } = this.#options;
    const dialler = this.#dialler;
    const silentMs = clock.now() - (unansweredSince ?? Infinity);
    const isOutage = link.wasDropped || silentMs > this.#session.timeoutMs / divisors.silentEnd;
    const isSuspect = treatment !== undefined || !isOutage;
    const lack = isSuspect ? traits.endedAt(unanswered, link.server, treatment) : undefined;
    const consequence = lack && consequences[lack.why.operation];
    const fatal = unknown ?? (consequence === undefined ? lack?.why : undefined);
    this.of(link.server, fatal ?? ended ?? new Error(`${link.server} closed the connection`), unknown && link.address);
    if (lack?.isNews === true)
      this.#warn(`${lack.why.message}. ${consequence ?? `Such requests fail. ${lack.why.cure}`}`, undefined);
    if (unknown) dialler.avoid(link);
    else dialler.ended(link, this.#session.heardAt >= dialler.grantedAt);
  }

  /** @param refusing the address of the server, if no further attempt there can succeed */
  of(server: string, why: unknown, refusing?: string): void {
    this.last = why;
    this.#dialler.history.failed(server, why, refusing);
  }

  /** The server refuses this client's account. The next server may have another configuration. */
  ofAccount(link: ServerLink, why: SaslRefusal, isConnected: boolean): void {
    const { server, address } = link;
    this.#dialler.avoid(link);
    this.last = why;
    const isFirst = this.#dialler.history.refused(server, why, address);
    // The end of a connection is reported anyway. A refusal by SASL comes before there is one.
    if (isFirst && !isConnected && !this.areFinal)
      this.#warn(`${refusalText(server, why)}; trying the next server`, why);
  }

  /** True if the account is refused for good: no further attempt can succeed. */
  get areFinal(): boolean {
    const { heardAt, timeoutMs } = this.#session;
    return this.#dialler.history.isRefusedForGood({
      now: this.#options.clock.now(),
      heardAt,
      createdAt: this.#createdAt,
      timeoutMs,
    });
  }

  /** The reason why a server may close the first connection of a client without an answer. */
  #guess(): string {
    if (this.#options.tls || this.#session.sessionId !== 0n) return '';
    return ' without an answer. If this is its secureClientPort, set the option `tls`. Else it may have no leader, or all the connections that maxClientCnxns allows';
  }
}

interface FailingSession {
  /** 0 before the first grant. */
  readonly sessionId: bigint;
  /** The time of the last answer to the session; 0 for none. Monotonic milliseconds. */
  readonly heardAt: number;
  readonly timeoutMs: number;
}

/** The client's substitutes for an operation that ends each connection. */
const consequences: Partial<Record<string, string>> = {
  createContainer: 'Parents are created as persistent znodes instead, which stay when they are empty',
  setWatches: 'Watches are planted one by one instead',
  removeWatches: 'Watches are not removed any more before their znodes are',
};

/** A server that closes a connection before it has read the request ends it with one of these, or with none. */
function isClosing(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNRESET' || error.code === 'EPIPE';
}

function refusalText(server: string, { why }: SaslRefusal): string {
  return why === 'no-ticket'
    ? `This client cannot authenticate to ${server}`
    : `The server ${server} does not serve this client`;
}
