import {
  absolute,
  anyVersion,
  creation,
  createModes,
  nothing,
  opcodes,
  operation,
  readPath,
  readStat,
  type AclEntry,
  type Operation,
} from './operations.js';
import type { Reader } from './wire.js';
import { errorNumbers, ZooKeeperError } from './zookeeper-error.js';

/** The answer to a transaction: all parts were executed, or none. */
export type MultiAnswer<Results extends readonly unknown[]> =
  | { readonly is: 'done'; readonly results: Results }
  /**
   * `errors`: the error of each part; undefined for a part that was valid by itself, or was not tried. `error`: the
   * first of these errors.
   */
  | {
      readonly is: 'refused';
      readonly errors: readonly (ZooKeeperError | undefined)[];
      readonly error: ZooKeeperError;
    };

/**
 * Executes all parts in one transaction through the quorum, or none of them.
 *
 * @example
 * multi(checkExists('/lock/next'), remove('/lock/own'));
 */
export function multi<Results extends readonly unknown[]>(
  ...parts: { readonly [Index in keyof Results]: Operation<Results[Index]> }
): Operation<MultiAnswer<Results>> {
  const all: readonly Operation<unknown>[] = parts;
  const request = operation(
    'multi',
    'write',
    all.at(-1)?.path ?? '/',
    (to) => {
      for (const part of all) {
        to.int(part.opcode).flag(false).int(-1);
        part.write(to);
      }
      return to.int(-1).flag(true).int(-1);
    },
    (from) => readMulti(from, all) as MultiAnswer<Results>,
  );
  // A leader that ends the session refuses the first part by SESSION_EXPIRED. Such an answer proves nothing.
  return { ...request, sessionError };
}

function sessionError(value: unknown): number {
  const answer = value as MultiAnswer<readonly unknown[]>;
  return answer.is === 'refused' && answer.error.isRetryable ? answer.error.number : 0;
}

/**
 * A transaction through the quorum that changes nothing and is never refused. It checks the servers' root, which always
 * exists. The chroot may not exist.
 */
export function checkServers(): Operation<MultiAnswer<readonly unknown[]>> {
  return absolute(check(['/']));
}

/** A transaction through the quorum that changes nothing. It is refused if one of the znodes does not exist. */
export function check(paths: readonly string[]): Operation<MultiAnswer<readonly unknown[]>> {
  return { ...multi<readonly unknown[]>(...paths.map(checkExists)), isProof: true };
}

/** A part of a transaction. It fails with NO_NODE unless the znode exists. */
export function checkExists(path: string): Operation<void> {
  return checkVersion(path, anyVersion);
}

/** As `checkExists`. It also fails with BAD_VERSION unless the znode's data have this version. */
export function checkVersion(path: string, version = anyVersion): Operation<void> {
  return operation('check', 'write', path, (to) => to.path(path).int(version), nothing);
}

/**
 * A part of a transaction that creates a znode. The answer is the path, with the number that the server appended to a
 * sequential one.
 *
 * @param ttlMs only for the modes with a time to live
 */
export function createInTransaction(
  path: string,
  data: Uint8Array,
  acl: readonly AclEntry[],
  mode: keyof typeof createModes,
  ttlMs?: number,
): Operation<string> {
  const number = createModes[mode];
  if (mode === 'container') return answeredByCreate2(creation('createContainer', path, data, acl, number, readPath));
  const create = creation(ttlMs === undefined ? 'create' : 'createTTL', path, data, acl, number, readPath);
  if (ttlMs === undefined) return create;
  return answeredByCreate2({
    ...create,
    write: (to) => {
      create.write(to);
      return to.long(BigInt(ttlMs));
    },
  });
}

/**
 * In a transaction, the result of a container, and of a znode with a time to live, has a Stat behind its path. The
 * results of the other modes have none (3.8.0).
 */
function answeredByCreate2(part: Operation<string>): Operation<string> {
  return {
    ...part,
    resultOpcode: opcodes.create2,
    read: (from) => {
      const path = part.read(from);
      readStat(from);
      return path;
    },
  };
}

/**
 * The codes 0 and RUNTIME_INCONSISTENCY. If one part fails, the server answers all other parts with these codes: they
 * were rolled back, or not tried.
 */
const notTheCause: ReadonlySet<number> = new Set([0, errorNumbers.RUNTIME_INCONSISTENCY]);

function readMulti(from: Reader, parts: readonly Operation<unknown>[]): MultiAnswer<readonly unknown[]> {
  const results: unknown[] = [];
  const errors: (ZooKeeperError | undefined)[] = [];
  for (const part of parts) {
    const type = from.int();
    from.flag();
    from.int();
    if (type === -1) {
      const error = from.int();
      errors.push(notTheCause.has(error) ? undefined : new ZooKeeperError(error, part.name, part.path));
    } else if (type === (part.resultOpcode ?? part.opcode)) {
      results.push(part.read(from));
      errors.push(undefined);
    } else {
      const due = part.resultOpcode ?? part.opcode;
      throw new RangeError(`The answer to a transaction has opcode ${type}, but opcode ${due} was due`);
    }
  }
  if (results.length === parts.length) return { is: 'done', results };
  return {
    is: 'refused',
    errors,
    error:
      errors.find((error) => error !== undefined) ??
      new ZooKeeperError(errorNumbers.SYSTEM_ERROR, 'multi', parts[0]?.path ?? '/'),
  };
}
