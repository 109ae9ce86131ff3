/** A lock of a run, as all participants know it. `withPeers`: Java Curator takes part, too. */
export type LockPlan = { readonly path: string; readonly withPeers: boolean } & (
  | { readonly is: 'mutex' | 'weighted' | 'read-write' | 'election' }
  | { readonly is: 'semaphore'; readonly maxLeases: number }
);

export const lockPlans: readonly LockPlan[] = [
  { is: 'mutex', path: '/chaos/accounts', withPeers: true },
  { is: 'mutex', path: '/chaos/orders', withPeers: false },
  { is: 'mutex', path: '/chaos/stock', withPeers: false },
  { is: 'weighted', path: '/chaos/reports', withPeers: false },
  { is: 'read-write', path: '/chaos/catalogue', withPeers: true },
  { is: 'election', path: '/chaos/leaders', withPeers: false },
  { is: 'semaphore', path: '/chaos/printers', withPeers: true, maxLeases: 3 },
];

/** The folders that contain the znodes of its participants. */
export function foldersOf({ is, path }: LockPlan): string[] {
  return is === 'semaphore' ? [`${path}/leases`, `${path}/locks`] : [path];
}

/** The znode into which the owners of a path write, by transactions of their holds. */
export function dataOf(path: string): string {
  return `${path}.data`;
}

/** The leases of each semaphore, as the history records them. */
export function leasesOf(plans: readonly LockPlan[]): Record<string, number> {
  return Object.fromEntries(
    plans.flatMap((plan) => (plan.is === 'semaphore' ? [[plan.path, plan.maxLeases] as const] : [])),
  );
}
