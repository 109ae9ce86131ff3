import { askApplication } from '../../support/no-context.js';
import type { Credential } from '../../zookeeper/connection/connection-options.js';
import { openAcl } from '../../zookeeper/wire/operations.js';
import { checkAuth, checkedAcl, type AclProvider, type CheckedAcl, type OtherIdentities } from './access-rights.js';
import { checkedLog, type ClientLog, type Logger } from './logger.js';
import { secretsOf } from './redaction.js';
import { defaultRetryPolicy, type RetryDecision, type RetryPolicy } from './retry-policy.js';
import { checkSasl, type SaslOptions } from './sasl-options.js';
import { checkTls, type TlsOptions } from './tls-options.js';
import type { TlsSource } from '../../zookeeper/network/network.js';
import {
  expected,
  expectDuration,
  expectNumber,
  expectMethod,
  expectOptions,
  expectSignal,
} from '../../support/validate.js';

/**
 * Options of {@link LockClient.connect}: a plain object, which is read once, at the call. A bad option is a TypeError
 * or a RangeError that names the option, before any request is sent.
 */
export interface LockClientOptions {
  /**
   * The session timeout that the client requests, in milliseconds. The servers may grant less or more, by default 2 to
   * 20 times their `tickTime`. The `logger` reports a different grant.
   * @default 30000
   */
  readonly sessionTimeoutMs?: number | undefined;
  /**
   * The time limit for the first connection, in milliseconds. After it, `connect` rejects with a
   * ConnectionTimeoutError.
   * @default 15000
   */
  readonly connectionTimeoutMs?: number | undefined;
  /**
   * Decides whether and when an acquire whose znode was deleted starts over at the back of the queue.
   * @default exponentialBackoff({ baseSleepMs: 100, maxSleepMs: 5000 })
   */
  readonly retryPolicy?: RetryPolicy | undefined;
  /**
   * The servers' `tickTime` in milliseconds, if known. The shorter it is, the sooner a session counts as proven, and
   * the later its deadline is. At least 50.
   * @default a third of the session timeout is assumed to be long enough
   */
  readonly tickTimeMs?: number | undefined;
  /** Credentials that the client sends first on every new connection. */
  readonly auth?: readonly Credential[] | undefined;
  /**
   * Connects over TLS, to the servers' secureClientPort. See {@link TlsOptions}.
   * @default the connection is not encrypted
   */
  readonly tls?: TlsOptions | undefined;
  /** An account that the client authenticates by SASL on every new connection, before any other request. */
  readonly sasl?: SaslOptions | undefined;
  /**
   * Access rights of lock znodes, and of the parents created for them: a list, `creator-only`, or `open`.
   * @default 'open': world:anyone may do everything, as in Curator
   */
  readonly acl?: AclProvider | undefined;
  /** Ends the first connection attempt. `connect` then rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Reports events in the background. @default silent */
  readonly logger?: Logger | undefined;
  /**
   * Remembers the place of each acquire in the application's code, so that warnings can name it: for a hold that was
   * garbage-collected without a release, and for an acquire that waits for another acquire of its own process. For
   * development: each acquire takes some microseconds longer, and more memory.
   * @default false
   */
  readonly debug?: boolean | undefined;
}

/** Options of {@link LockClient.create}, which does not wait for the first connection. */
export type LazyClientOptions = Omit<LockClientOptions, 'connectionTimeoutMs' | 'signal'>;

/**
 * `host:port,host:port/chroot`, or a function that returns it, which is called again while no server answers; see
 * docs/moving-servers.md.
 */
export type ConnectStringSource = string | (() => string | PromiseLike<string>);

export interface CheckedClientOptions extends CheckedAcl {
  readonly sessionTimeoutMs: number;
  readonly connectionTimeoutMs: number;
  readonly retryPolicy: RetryPolicy;
  readonly tickTimeMs: number | undefined;
  // Functions, because `inspect` without the custom form of a class shows what the fields of a client contain.
  readonly auth: () => readonly Credential[];
  readonly tls: TlsSource | undefined;
  readonly sasl: () => SaslOptions | undefined;
  readonly others: OtherIdentities;
  readonly signal: AbortSignal | undefined;
  readonly log: ClientLog;
  readonly debug: boolean;
  /** The client does not wait for its first connection. */
  readonly isLazy: boolean;
}

const known = [
  'sessionTimeoutMs',
  'connectionTimeoutMs',
  'retryPolicy',
  'tickTimeMs',
  'auth',
  'tls',
  'sasl',
  'acl',
  'signal',
  'logger',
  'debug',
];

const knownOfLazy = known.filter((name) => name !== 'connectionTimeoutMs' && name !== 'signal');

export function checkClientOptions(options: LockClientOptions = {}, isLazy = false): CheckedClientOptions {
  const checked = isLazy
    ? expectOptions('LockClient.create', options, knownOfLazy)
    : expectOptions('LockClient.connect', options, known);
  const {
    sessionTimeoutMs = 30_000,
    connectionTimeoutMs = 15_000,
    retryPolicy = defaultRetryPolicy,
    tickTimeMs,
    auth = [],
    tls,
    sasl,
    acl = openAcl,
    signal,
    logger,
    debug = false,
  } = checked;
  checkSessionTimeout(sessionTimeoutMs);
  expectDuration('connectionTimeoutMs', connectionTimeoutMs);
  expectMethod('retryPolicy', retryPolicy, 'allowRetry');
  if (tickTimeMs !== undefined) checkTickTime(tickTimeMs);
  if (signal !== undefined) expectSignal('signal', signal);
  const accounts = checkAuth(auth);
  const login = checkSasl(sasl);
  const saslAccount = login && 'password' in login ? login : undefined;
  const log = checkedLog(logger, secretsOf(accounts, saslAccount));
  const checkedTls = checkTls(tls, log);
  const others = {
    saslUser: saslAccount?.username,
    saslMechanism: login && 'handshake' in login ? login.mechanism : undefined,
    mayHaveCertificate: checkedTls?.mayHaveCertificate ?? false,
  };
  if (typeof debug !== 'boolean') throw new TypeError(expected('debug', 'true or false', debug));
  return {
    sessionTimeoutMs: Math.ceil(sessionTimeoutMs),
    connectionTimeoutMs,
    retryPolicy: { allowRetry: (attempt) => checkDecision(askApplication(() => retryPolicy.allowRetry(attempt))) },
    tickTimeMs,
    auth: () => accounts,
    tls: checkedTls?.source,
    sasl: () => login,
    others,
    ...checkedAcl(acl, accounts, others),
    signal,
    log,
    debug,
    isLazy,
  };
}

/**
 * A value that is shorter than the servers' real tick lets a hold live too long. No server has so short a tick: the
 * value is most likely in seconds. A value that is too long does no harm, because a third of the session timeout is the
 * longest that counts.
 */
function checkTickTime(value: unknown): asserts value is number {
  const accepted = `the servers' tickTime in milliseconds, at least ${shortestTickMs}`;
  expectNumber('tickTimeMs', value, accepted, (ms) => ms >= shortestTickMs && ms < Infinity);
}

const shortestTickMs = 50;

function checkSessionTimeout(value: unknown): asserts value is number {
  const accepted = `a number of milliseconds > 0 and at most ${longestTimeoutMs}; servers grant from 2 to 20 times their tickTime, by default 4000 to 40000`;
  expectNumber('sessionTimeoutMs', value, accepted, (ms) => ms > 0 && ms <= longestTimeoutMs);
}

/** The protocol has 32 bits for the timeout. */
const longestTimeoutMs = 2 ** 31 - 1;

/** Refuses a promise, or no value, because both would count as a refusal to retry. */
function checkDecision(decision: unknown): RetryDecision {
  const { retry, sleepMs } = (typeof decision === 'object' ? (decision ?? {}) : {}) as {
    retry?: unknown;
    sleepMs?: unknown;
  };
  if (retry === false) return { retry };
  if (retry !== true)
    throw new TypeError(
      expected(
        'the result of retryPolicy.allowRetry',
        '{ retry: false } or { retry: true, sleepMs: number }',
        decision,
      ),
    );
  expectDuration('sleepMs of the retry policy', sleepMs);
  return { retry, sleepMs };
}
