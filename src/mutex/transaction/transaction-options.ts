import type { Acl } from '../../client/options/access-rights.js';
import { expected, expectInteger, expectOneOf, expectOptions } from '../../support/validate.js';
import { validatePath } from '../../zookeeper/wire/path.js';

/** Options of {@link GuardedTransaction.create}. */
export interface CreateOptions {
  /**
   * The kind of znode. An ephemeral one ends with the session of the client, and not with the hold. The server appends a
   * number of ten digits to the name of a sequential one, and removes a container after its last child. The modes with a
   * time to live need `ttlMs`, and servers that allow them: `-Dzookeeper.extendedTypesEnabled=true`.
   * @default 'persistent'
   */
  readonly mode?: CreateMode | undefined;
  /**
   * The time to live of a mode with one: a whole number of milliseconds from 1 to 1099511627775. The servers delete the
   * znode when nobody has written it for that long and it has no children. They look once a minute by default.
   */
  readonly ttlMs?: number | undefined;
  /** The access rights of the znode. @default those that the client's option `acl` gives for the path */
  readonly acl?: Acl | undefined;
}

/** The kinds of znodes that a transaction can create. */
export type CreateMode =
  | 'persistent'
  | 'persistent-sequential'
  | 'ephemeral'
  | 'ephemeral-sequential'
  | 'container'
  | 'persistent-with-ttl'
  | 'persistent-sequential-with-ttl';

/** Options of the operations that may compare a version. */
export interface VersionOptions {
  /**
   * The version that the znode's data must have: the number of writes since its creation, from 0.
   * @default any version
   */
  readonly version?: number | undefined;
}

/** Checks the options of a create. @throws TypeError or RangeError for an option that is not accepted */
export function checkCreateOptions(options: CreateOptions): CreateOptions & { readonly mode: CreateMode } {
  const { mode = 'persistent', acl, ttlMs } = expectOptions('create', options, ['mode', 'acl', 'ttlMs']);
  expectOneOf('mode', mode, modes);
  if (mode.endsWith('-with-ttl')) expectInteger('ttlMs', ttlMs, { min: 1, max: longestTtlMs });
  else if (ttlMs !== undefined)
    throw new TypeError(`${expected('ttlMs', 'left out', ttlMs)}: the mode '${mode}' has no time to live`);
  return { mode, acl, ttlMs };
}

/** The path for a mode. @throws InvalidPathError for a path that ZooKeeper does not accept */
export function pathFor(mode: CreateMode, path: unknown): string {
  return mode.includes('-sequential') ? sequentialPath(path) : validatePath(path);
}

/** The version in the options of a method. @throws TypeError or RangeError */
export function versionIn(what: string, options: VersionOptions = {}): number | undefined {
  const { version } = expectOptions(what, options, ['version']);
  if (version !== undefined) expectInteger('version', version, { min: 0, max: lastVersion });
  return version;
}

/** The names of the modes in the wire layer. */
export const wireModes = {
  persistent: 'persistent',
  'persistent-sequential': 'persistentSequential',
  ephemeral: 'ephemeral',
  'ephemeral-sequential': 'ephemeralSequential',
  container: 'container',
  'persistent-with-ttl': 'persistentWithTtl',
  'persistent-sequential-with-ttl': 'persistentSequentialWithTtl',
} as const;

const modes = Object.keys(wireModes) as readonly CreateMode[];

/** The servers keep the time to live in 40 bits. */
const longestTtlMs = 2 ** 40 - 1;

/** The greatest version; the counter is a signed 32-bit integer. */
const lastVersion = 2 ** 31 - 1;

/** The server appends the number to the last name, which may be empty. */
function sequentialPath(path: unknown): string {
  if (typeof path === 'string' && path.endsWith('/')) {
    validatePath(`${path}0000000000`);
    return path;
  }
  return validatePath(path);
}
