import type { Acl } from '../client/access-rights.js';
import { expectInteger, expectOneOf, expectOptions } from '../support/validate.js';
import { validatePath } from '../zookeeper/path.js';

/** Options of {@link GuardedTransaction.create}. */
export interface CreateOptions {
  /**
   * The kind of znode. An ephemeral one ends with the session of the client, and not with the hold. The server appends a
   * number of ten digits to the name of a sequential one, and removes a container after its last child.
   * @default 'persistent'
   */
  readonly mode?: CreateMode | undefined;
  /** The access rights of the znode. @default those that the client's option `acl` gives for the path */
  readonly acl?: Acl | undefined;
}

/** The kinds of znodes that a transaction can create. Znodes with a time to live are none of them. */
export type CreateMode = 'persistent' | 'persistent-sequential' | 'ephemeral' | 'ephemeral-sequential' | 'container';

/** Options of the operations that may compare a version. */
export interface VersionOptions {
  /**
   * The version that the znode's data must have: the number of writes since its creation, from 0.
   * @default any version
   */
  readonly version?: number | undefined;
}

/** Checks the options of a create. @throws TypeError for an option that is not accepted */
export function checkCreateOptions(options: CreateOptions): CreateOptions & { readonly mode: CreateMode } {
  const { mode = 'persistent', acl } = expectOptions('create', options, ['mode', 'acl']);
  expectOneOf('mode', mode, modes);
  return { mode, acl };
}

/** The path for a mode. @throws InvalidPathError for a path that ZooKeeper does not accept */
export function pathFor(mode: CreateMode, path: unknown): string {
  return mode.endsWith('-sequential') ? sequentialPath(path) : validatePath(path);
}

/** The version in the options of a method. @throws TypeError or RangeError */
export function versionIn(what: string, options: VersionOptions = {}): number | undefined {
  const { version } = expectOptions(what, options, ['version']);
  if (version !== undefined) expectInteger('version', version, { min: 0, max: lastVersion });
  return version;
}

const modes = ['persistent', 'persistent-sequential', 'ephemeral', 'ephemeral-sequential', 'container'] as const;

/** The names of the modes in the wire layer. */
export const wireModes = {
  persistent: 'persistent',
  'persistent-sequential': 'persistentSequential',
  ephemeral: 'ephemeral',
  'ephemeral-sequential': 'ephemeralSequential',
  container: 'container',
} as const;

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
