import { znodeOf } from '../../lab/judge/history.ts';
import type { Acquire, Fault, History } from '../../lab/judge/folded-history.ts';
import type { Violation } from '../../lab/judge/violation.ts';

/**
 * A loss, or a failed acquire, without a fault nearby that could have caused it. Also a loss that the signal did not
 * report, or that the outcome of the release did not report.
 */
export function losses(history: History): Violation[] {
  const flowHolds = holdsByFlow(history);
  return history.acquires.flatMap((acquire) => {
    if (acquire.incarnation.isPeer) return [];
    const { id, path, lost, refused, incarnation } = acquire;
    const tell = (t: number, what: string): Violation[] => [
      { check: 'losses', t, text: `${id} (${path}) ${what}`, ids: [id] },
    ];
    const isExplained = (t: number): boolean =>
      faultsNear(t, history).some((fault) => touches(fault, acquire, flowHolds));
    const isGoodbye = lost?.reason === 'client-closed' && incarnation.leftAt !== undefined;
    if (refused?.outcome === 'error' && !isExplained(refused.t))
      return tell(refused.t, `failed with ${refused.error ?? 'an error'}, which no fault explains`);
    if (lost && !isExplained(lost.t) && !isGoodbye)
      return tell(lost.t, `was lost by ${lost.reason}, which no fault explains`);
    return untold(acquire).flatMap(({ t, what }) => tell(t, what));
  });
}

function untold({ lost, released, releasingAt }: Acquire): { readonly t: number; readonly what: string }[] {
  if (released?.outcome === 'lost' && lost === undefined)
    return [{ t: released.t, what: 'was lost by its release, but its signal never aborted' }];
  if (released?.outcome === 'released' && lost && lost.t < (releasingAt ?? Infinity))
    return [{ t: released.t, what: 'was released as `released`, although it had been lost before' }];
  return [];
}

/** The consequences of a fault may show for two session timeouts. */
function faultsNear(t: number, { faults, run }: History): Fault[] {
  return faults.filter(({ beganAt, healedAt }) => beganAt <= t && healedAt >= t - 2 * run.sessionTimeoutMs - 2_000);
}

/** A deleted znode concerns only the acquires that held by this znode, although the fault names more clients. */
function touches(
  { kind, target, clients }: Fault,
  { incarnation, flow }: Acquire,
  flowHolds: ReadonlyMap<string, ReadonlySet<string>>,
): boolean {
  return kind === 'delete-znode' ? (flowHolds.get(flow)?.has(target) ?? false) : clients.includes(incarnation.client);
}

function holdsByFlow({ grants }: History): Map<string, Set<string>> {
  const holds = new Map<string, Set<string>>();
  for (const { flow, granted } of [...grants.values()].flat())
    holds.set(flow, (holds.get(flow) ?? new Set()).add(znodeOf(granted.hold)));
  return holds;
}
