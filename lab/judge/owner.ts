import type { Granted } from './folded-history.ts';

/**
 * True if two grants are one hold: they have one flow, or one znode. The check `foreign-reentry` decides if several
 * flows may share the znode.
 */
export function isOneOwner(a: Granted, b: Granted): boolean {
  return a.flow === b.flow || a.granted.hold === b.granted.hold;
}

/** True if two owners may have their path at the same time. The check `leases` decides how many leases may. */
export function mayMeet(a: Granted, b: Granted): boolean {
  return a.role === b.role && (a.role === 'reader' || a.role === 'lease');
}

/** Overlaps between two peers are not this library's concern. */
export function arePeers(...owners: readonly Granted[]): boolean {
  return owners.every(({ incarnation }) => incarnation.isPeer);
}

export function nameOf({ id, path, role, incarnation, granted }: Granted): string {
  return `${id} (${path}, ${incarnation.isPeer ? 'a peer, ' : ''}${role === 'owner' ? '' : `${role}, `}token ${granted.token})`;
}
