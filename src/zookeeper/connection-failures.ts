import type { ConnectionOptions } from './connection-options.js';
import type { Handshake } from './handshake.js';
import type { HostHistory } from './host-history.js';
import type { Pipeline } from './pipeline.js';
import type { SaslRefusal } from './sasl-handshake.js';
import type { ServerTraits } from './server-traits.js';
import { explainTls } from './tls-error.js';
import { neededServers } from './unknown-request-error.js';

/** Why connections and attempts have ended: kept for the errors that a user sees, and judged. */
export class ConnectionFailures {
  readonly #options: ConnectionOptions;
  readonly #facts: FailureFacts;
  readonly #createdAt: number;
  /** The reason why the last connection or attempt ended. */
  last: unknown;

  constructor(options: ConnectionOptions, facts: FailureFacts) {
    this.#options = options;
    this.#facts = facts;
    this.#createdAt = options.clock.now();
  }

  /** The attempt has ended before the session could be used. */
  ofAttempt({ link, wasAccepted }: Handshake, ended: Error | undefined, isNewSession: boolean): void {
    const error = ended ?? new Error(`${link.server} closed the connection${this.#guess(isNewSession)}`);
    this.of(link.server, this.#options.tls ? explainTls(error, link.host, wasAccepted) : error);
  }

  /** The connection has ended. A server that ends each connection on which it gets an operation gets it no more. */
  ofConnection({ link, unanswered, unknown }: Pipeline, ended: Error | undefined): void {
    const { traits, warn } = this.#facts;
    const lack = link.wasDropped && !unknown ? undefined : traits.endedAt(unanswered, link.server, unknown);
    const consequence = lack && consequences[lack.why.operation];
    const fatal = unknown ?? (consequence === undefined ? lack?.why : undefined);
    this.of(link.server, fatal ?? ended ?? new Error(`${link.server} closed the connection`), unknown && link.address);
    if (lack?.isNews === true)
      warn(`${lack.why.message}. ${consequence ?? `Such requests fail. ${neededServers}`}`, undefined);
  }

  /** @param refusing the address of the server, if no further attempt there can succeed */
  of(server: string, why: unknown, refusing?: string): void {
    this.last = why;
    this.#facts.connection.history.failed(server, why, refusing);
  }

  /** The server refuses this client's account. The next server may have another configuration. */
  ofAccount(server: string, address: string | undefined, why: SaslRefusal, isConnected: boolean): void {
    this.last = why;
    const isFirst = this.#facts.connection.history.refused(server, why, address);
    // The end of a connection is reported anyway. A refusal by SASL comes before there is one.
    if (isFirst && !isConnected && !this.areFinal)
      this.#facts.warn(`${refusalText(server, why)}; trying the next server`, why);
  }

  /** True if the account is refused for good: no further attempt can succeed. */
  get areFinal(): boolean {
    const { history, heardAt, timeoutMs } = this.#facts.connection;
    return history.isRefusedForGood({
      now: this.#options.clock.now(),
      heardAt,
      createdAt: this.#createdAt,
      timeoutMs,
    });
  }

  /** The reason why a server may close the first connection of a client without an answer. */
  #guess(isNewSession: boolean): string {
    if (this.#options.tls || !isNewSession) return '';
    return ' without an answer. If this is its secureClientPort, set the option `tls`';
  }
}

interface FailureFacts {
  readonly connection: FailingConnection;
  readonly traits: ServerTraits;
  readonly warn: (message: string, error: unknown) => void;
}

interface FailingConnection {
  readonly history: HostHistory;
  /** The time of the last answer to the session; 0 for none. Monotonic milliseconds. */
  readonly heardAt: number;
  /** The session timeout in milliseconds. */
  readonly timeoutMs: number;
}

/** The client's substitutes for an operation that ends each connection. */
const consequences: Partial<Record<string, string>> = {
  createContainer: 'Parents are created as persistent znodes instead, which stay when they are empty',
  setWatches: 'Watches are planted one by one instead',
  removeWatches: 'Watches are not removed any more before their znodes are',
};

function refusalText(server: string, { why }: SaslRefusal): string {
  return why === 'no-ticket'
    ? `This client cannot authenticate to ${server}`
    : `The server ${server} does not serve this client`;
}
