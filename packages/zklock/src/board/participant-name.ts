import { foreignNames, sequenceOf, sortKey } from '../../../../src/driver/names.js';
import { weightedChild } from '../../../../src/weighted/weighted-name.js';

/**
 * Decodes the name of a znode by which a program holds or awaits a lock. The program may use this library, Java's
 * Curator, go-zookeeper or kazoo. Undefined for every other name.
 *
 * @example
 * participantName('_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-__READ__0000000004'); // { is: 'read', key: '0000000004', … }
 */
export function participantName(name: string): ParticipantName | undefined {
  // Most names are not a participant's, and a server's number ends all that are.
  if (!endsInNumber.test(name)) return undefined;
  const weighted = weightedChild(name);
  if (weighted)
    return { is: 'weighted', key: sortKey(name, '-'), sequence: weighted.sequence, weight: weighted.weight };
  for (const [lockName, is] of nativeNames) {
    if (name.includes(lockName) && foreignNames([name], lockName).length === 0)
      return { is, key: sortKey(name, lockName), sequence: sequenceOf(name, lockName) ?? 0 };
  }
  return kazooName(name);
}

/** The purpose of a participant's znode, according to its name, and its place in the queue. */
export interface ParticipantName {
  readonly is: ParticipantKind;
  /** The server's number as text: locks of all kinds compare it as Java compares strings. */
  readonly key: string;
  readonly sequence: number;
  /** The weight, in a lock with weights. */
  readonly weight?: number;
}

/**
 * `lock`: of a mutex. `kazoo-lock`: of kazoo's lock or write lock. `latch`: a candidate of an election. `lease`: a permit
 * of a semaphore.
 */
export type ParticipantKind = 'lock' | 'kazoo-lock' | 'read' | 'write' | 'weighted' | 'lease' | 'latch';

const endsInNumber = /\d{9}$/;

const nativeNames: readonly (readonly [string, ParticipantKind])[] = [
  ['lock-', 'lock'],
  ['__READ__', 'read'],
  ['__WRIT__', 'write'],
  ['lease-', 'lease'],
  ['latch-', 'latch'],
];

/** The name of a lock or write lock of kazoo is 32 hexadecimal digits and `__lock__`; that of a read lock has `__rlock__`. */
function kazooName(name: string): ParticipantName | undefined {
  const [, lockName] = kazooForm.exec(name) ?? [];
  const sequence = lockName === undefined ? undefined : sequenceOf(name, lockName);
  if (sequence === undefined) return undefined;
  return { is: lockName === '__rlock__' ? 'read' : 'kazoo-lock', key: sortKey(name, 'lock__'), sequence };
}

const kazooForm = /^[0-9a-f]{32}(__r?lock__)-?\d+$/;
