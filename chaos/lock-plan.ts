/** A lock of a run: who takes part in it knows it by this. */
export type LockPlan =
  | { readonly is: 'mutex' | 'read-write'; readonly path: string }
  | { readonly is: 'semaphore'; readonly path: string; readonly maxLeases: number };

export const lockPlans: readonly LockPlan[] = [
  { is: 'mutex', path: '/chaos/accounts' },
  { is: 'mutex', path: '/chaos/orders' },
  { is: 'mutex', path: '/chaos/stock' },
  { is: 'read-write', path: '/chaos/catalogue' },
  { is: 'semaphore', path: '/chaos/printers', maxLeases: 3 },
];

/** Where the znodes of its participants are. */
export function foldersOf({ is, path }: LockPlan): string[] {
  return is === 'semaphore' ? [`${path}/leases`, `${path}/locks`] : [path];
}

/** As a history has it. */
export function leasesOf(plans: readonly LockPlan[]): Record<string, number> {
  return Object.fromEntries(plans.flatMap((plan) => (plan.is === 'semaphore' ? [[plan.path, plan.maxLeases] as const] : [])));
}
