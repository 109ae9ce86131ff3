import type { Hold } from '../src/index.ts';
import type { Owner } from './owner.ts';

/** The grant of one acquire. */
export interface Claim {
  readonly owner: Owner;
  readonly hold: Hold;
  readonly path: string;
  readonly sessionId: bigint;
  readonly at: number;
  /** The same time by the clock of its process. */
  readonly processAt: number;
  isReleased: boolean;
  /** True when its signal has aborted. */
  isTold: boolean;
  /** True when a third party has deleted its znode, or ended its session. */
  isTaken: boolean;
  isAccused?: boolean;
}

/** Two readers, or two leases. */
export function mayMeet(a: Claim, b: Claim): boolean {
  return isShared(a) && a.owner.role === b.owner.role;
}

/** True for readers and leases, which have the lock together. */
export function isShared({ owner: { role } }: Claim): boolean {
  return role === 'reader' || role === 'lease';
}

/** True if the token of `b` is that of a later grant. Two grants of one znode of a sticky lock have one token. */
export function isLater(b: Claim, a: Claim): boolean {
  const [first, second] = [a.hold, b.hold];
  if (first.fencingToken !== second.fencingToken) return first.fencingToken < second.fencingToken;
  return first.grantNumber < second.grantNumber;
}

export function sequenceOf(name: string): number {
  return Number(name.slice(-10));
}

export function nameOf({ owner: { client, id }, path }: Claim): string {
  return `${client.name} ${id} (${path.slice(path.lastIndexOf('/') + 1)})`;
}
