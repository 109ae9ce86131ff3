import type { Granted } from './folded-history.ts';

/**
 * Whether two grants are one hold: of one flow, or of one znode. Whether the znode's flows may share it, `strangers`
 * asks.
 */
export function isOneOwner(a: Granted, b: Granted): boolean {
  return a.flow === b.flow || a.granted.hold === b.granted.hold;
}

/** Whether two owners may have their path at the same time. How many leases may, `leases` asks. */
export function mayMeet(a: Granted, b: Granted): boolean {
  return a.role === b.role && (a.role === 'reader' || a.role === 'lease');
}

/** What peers do to each other is theirs. */
export function arePeers(...owners: readonly Granted[]): boolean {
  return owners.every(({ incarnation }) => incarnation.isPeer);
}

export function nameOf({ id, path, role, incarnation, granted }: Granted): string {
  return `${id} (${path}, ${incarnation.isPeer ? 'a peer, ' : ''}${role === 'owner' ? '' : `${role}, `}token ${granted.token})`;
}
