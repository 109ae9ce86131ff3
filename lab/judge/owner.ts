import type { Granted } from './folded-history.ts';
import { grantNumberOf } from './history.ts';

/**
 * True if two grants are one hold: they have one flow, or one znode. The check `foreign-reentry` decides if several
 * flows may share the znode.
 */
export function isOneOwner(a: Granted, b: Granted): boolean {
  return a.flow === b.flow || a.granted.hold === b.granted.hold;
}

/** True if `b` was granted its lock after `a`. Two grants of one znode of a sticky lock have one token. */
export function isLater({ granted: b }: Granted, { granted: a }: Granted): boolean {
  return b.token === a.token ? grantNumberOf(b.hold) > grantNumberOf(a.hold) : b.token > a.token;
}

/** True if two owners may have their path at the same time. The check `leases` decides how many leases may. */
export function mayMeet(a: Granted, b: Granted): boolean {
  return a.role === b.role && isShared(a);
}

/** True for readers and leases, which have the lock together. */
export function isShared({ role }: Granted): boolean {
  return role === 'reader' || role === 'lease';
}

/** Overlaps between two peers are not this library's concern. */
export function arePeers(...owners: readonly Granted[]): boolean {
  return owners.every(({ incarnation }) => incarnation.isPeer);
}

export function nameOf({ id, path, role, incarnation, granted }: Granted): string {
  return `${id} (${path}, ${incarnation.isPeer ? 'a peer, ' : ''}${role === 'owner' ? '' : `${role}, `}token ${granted.token})`;
}
