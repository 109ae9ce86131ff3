import { askApplication, tellApplication } from '../support/no-context.js';
import type { Credential } from '../zookeeper/connection.js';
import { validatePath } from '../zookeeper/path.js';
import { openAcl, type AclEntry } from '../zookeeper/operations.js';
import { defaultRetryPolicy, type RetryDecision, type RetryPolicy } from './retry-policy.js';
import { expected, expectDuration, expectMethod, expectOptions, expectPositive, expectSignal, isPlainObject } from '../support/validate.js';

/** Any console-like object. What is logged never contains credentials. */
export interface Logger {
  /** Told of what no call can report, such as a znode that could not be deleted yet; `error` is what was behind it. */
  warn(message: string, error?: unknown): void;
}

/**
 * Access rights for the znodes that locks create: the same for all, or by path. The path is below the chroot, as every path of this library is. The function is asked for `/` where
 * znodes of the chroot itself are missing.
 *
 * @example
 * const acl: AclProvider = (path) => (path.startsWith('/locks/payments') ? creatorOnly : readableByAll);
 */
export type AclProvider = readonly AclEntry[] | ((path: string) => readonly AclEntry[]);

/** Options of {@link LockClient.connect}: a plain object, which is read once, at the call. A bad option is a TypeError or a RangeError that names it, before anything is sent. */
export interface LockClientOptions {
  /**
   * The session timeout to ask for, in milliseconds; the server may grant less or more.
   * @default 30000
   */
  readonly sessionTimeoutMs?: number | undefined;
  /**
   * How long the first connection may take, in milliseconds; then ConnectionTimeoutError.
   * @default 15000
   */
  readonly connectionTimeoutMs?: number | undefined;
  /**
   * Whether and when an acquire whose znode vanished starts over at the back of the queue.
   * @default exponentialBackoff({ baseSleepMs: 100, maxSleepMs: 5000 })
   */
  readonly retryPolicy?: RetryPolicy | undefined;
  /**
   * The servers' `tickTime` in milliseconds, if it is known: the shorter it is, the sooner a session counts as proven, and the later
   * its deadline lies.
   * @default a third of the session timeout is assumed to be long enough
   */
  readonly tickTimeMs?: number | undefined;
  /** Sent on every new connection before anything else. */
  readonly auth?: readonly Credential[] | undefined;
  /**
   * Access rights of lock znodes and of the parents created for them.
   * @default world:anyone may do everything, as in Curator
   */
  readonly acl?: AclProvider | undefined;
  /** Ends the first connection attempt; `connect` rejects with its reason. */
  readonly signal?: AbortSignal | undefined;
  /** Hears of what happens in the background. @default silent */
  readonly logger?: Logger | undefined;
}

export interface CheckedClientOptions {
  readonly sessionTimeoutMs: number;
  readonly connectionTimeoutMs: number;
  readonly retryPolicy: RetryPolicy;
  readonly tickTimeMs: number | undefined;
  readonly auth: readonly Credential[];
  /** Of a path on the servers, the chroot included. */
  readonly aclFor: (path: string) => readonly AclEntry[];
  readonly signal: AbortSignal | undefined;
  readonly logger: Logger | undefined;
}

const known = ['sessionTimeoutMs', 'connectionTimeoutMs', 'retryPolicy', 'tickTimeMs', 'auth', 'acl', 'signal', 'logger'];

/** @param chroot what the paths of the servers begin with */
export function checkClientOptions(options: LockClientOptions = {}, chroot = ''): CheckedClientOptions {
  const checked = expectOptions('LockClient.connect', options, known);
  const { sessionTimeoutMs = 30_000, connectionTimeoutMs = 15_000, retryPolicy = defaultRetryPolicy, tickTimeMs, auth = [], acl = openAcl, signal, logger } = checked;
  expectPositive('sessionTimeoutMs', sessionTimeoutMs);
  if (sessionTimeoutMs > 2 ** 31 - 1) throw new RangeError(expected('sessionTimeoutMs', 'at most 2147483647 ms', sessionTimeoutMs));
  expectDuration('connectionTimeoutMs', connectionTimeoutMs);
  expectMethod('retryPolicy', retryPolicy, 'allowRetry');
  if (tickTimeMs !== undefined) expectPositive('tickTimeMs', tickTimeMs);
  if (signal !== undefined) expectSignal('signal', signal);
  if (logger !== undefined) expectMethod('logger', logger, 'warn');
  return {
    sessionTimeoutMs: Math.ceil(sessionTimeoutMs),
    connectionTimeoutMs,
    retryPolicy: { allowRetry: (attempt) => checkDecision(askApplication(() => retryPolicy.allowRetry(attempt))) },
    tickTimeMs,
    auth: checkAuth(auth),
    aclFor: typeof acl === 'function' ? provided(acl, chroot) : constant(checkAcl('acl', acl)),
    signal,
    logger: logger && { warn: (message, error) => tellApplication(() => logger.warn(message, error)) },
  };
}

/** A promise, or nothing, would be taken for a refusal. */
function checkDecision(decision: unknown): RetryDecision {
  const { retry, sleepMs } = (typeof decision === 'object' ? (decision ?? {}) : {}) as { retry?: unknown; sleepMs?: unknown };
  if (retry === false) return { retry };
  if (retry !== true) throw new TypeError(expected('what retryPolicy.allowRetry returns', '{ retry: false } or { retry: true, sleepMs: number }', decision));
  expectDuration('sleepMs of the retry policy', sleepMs);
  return { retry, sleepMs };
}

/** The value is never shown: it is a secret. */
function checkAuth(auth: unknown): readonly Credential[] {
  const entries: unknown[] = Array.isArray(auth) ? auth : [undefined];
  return Array.from(entries, (entry) => {
    const { scheme, credentials }: Partial<Credential> = isPlainObject(entry) ? entry : {};
    if (typeof scheme !== 'string' || scheme === '' || typeof credentials !== 'string') {
      throw new TypeError("Expected `auth` to be an array of { scheme: string, credentials: string }, such as { scheme: 'digest', credentials: 'user:secret' }");
    }
    return { scheme, credentials };
  });
}

/** Asks the provider as its author knows the paths. */
function provided(provider: (path: string) => unknown, chroot: string): (path: string) => readonly AclEntry[] {
  return (path) => {
    const below = validatePath(path.startsWith(`${chroot}/`) ? path.slice(chroot.length) : '/');
    return checkAcl(`acl(${JSON.stringify(below)})`, askApplication(provider, below));
  };
}

function checkAcl(option: string, acl: unknown): readonly AclEntry[] {
  const accepted = 'a non-empty array of { permissions: 1 to 31, scheme: string, id: string }';
  if (!Array.isArray(acl) || acl.length === 0) throw new TypeError(expected(option, accepted, acl));
  return Array.from(acl as unknown[], (entry) => {
    const { permissions, scheme, id }: Partial<AclEntry> = isPlainObject(entry) ? entry : {};
    if (!Number.isInteger(permissions) || Number(permissions) < 1 || Number(permissions) > 31 || typeof scheme !== 'string' || typeof id !== 'string') {
      throw new TypeError(expected(option, accepted, entry));
    }
    return { permissions: Number(permissions), scheme, id };
  });
}

function constant<T>(value: T): () => T {
  return () => value;
}
