import { grouped, type Acquire, type Granted, type History } from '../../lab/judge/folded-history.ts';
import { znodeOf } from '../../lab/judge/history.ts';
import { nameOf } from '../../lab/judge/owner.ts';
import { moment, type Violation } from '../../lab/judge/violation.ts';

/**
 * One process called two acquires for one path, one after the other. Both waited at the same time, and the second was
 * granted first.
 */
export function order(history: History): Violation[] {
  return pairsInOrder(history)
    .filter(([first, second]) => second.granted.t < first.granted.t)
    .map(([first, second]) => {
      const overtaken = `which was called before it, at ${moment(history, first.calledAt)}, and was granted at ${moment(history, first.granted.t)}`;
      return {
        check: 'order',
        t: second.granted.t,
        text: `${nameOf(second)} overtook ${nameOf(first)}, ${overtaken}`,
        ids: [first.id, second.id],
      };
    });
}

/**
 * The pairs of calls whose order is certain. Calls create their znodes in call order as long as nothing happens to
 * their session, to its connection, or to their znodes: a znode that is created again goes to the back of the queue.
 * The exceptions:
 * - A tryAcquire does not queue up, and may be overtaken. A tryAcquire of a semaphore must not overtake waiters.
 * - A call for several leases may give way to a Java client, and go to the back of the queue.
 * - A re-entry does not queue up. A call that waits in memory for another acquire of its own flow may create its znode
 *   later than it called.
 * - Readers that are granted together may reach their code in any order. Leases are granted one after another, like a
 *   mutex.
 * - The threads of a peer call at the same time.
 * - With weights, the check `weights` decides who may overtake.
 * - A call before the first grant on a path may have to create the path, while later calls find it. So may a call after
 *   the servers have removed the empty path: its znodes are counted from 0 again.
 */
export function pairsInOrder(history: History): [Granted, Granted][] {
  return [...grouped(queuers(history), ({ incarnation, path }) => `${incarnation.client} ${path}`).values()].flatMap(
    (calls) => {
      const pairs: [Granted, Granted][] = [];
      let waiting: Granted[] = [];
      const grants = history.grants.get(calls[0]?.path ?? '') ?? [];
      let earlier = 0;
      for (const call of calls) {
        while ((grants[earlier]?.granted.t ?? Infinity) <= call.calledAt) earlier += 1;
        waiting = waiting.filter(({ granted }) => granted.t > call.calledAt);
        for (const other of waiting) if (call.role !== 'reader' || other.role !== 'reader') pairs.push([other, call]);
        if (call.kind !== 'try' && isUndisturbed(call, grants[earlier - 1], history)) waiting.push(call);
      }
      return pairs;
    },
  );
}

/** Ordered by the time of their calls. */
function queuers({ acquires, run }: History): Granted[] {
  const busy = new Map<string, number>();
  return acquires.filter((acquire): acquire is Granted => {
    const flow = `${acquire.path} ${acquire.flow}`;
    const isAlone = acquire.calledAt >= (busy.get(flow) ?? -Infinity);
    busy.set(flow, Math.max(busy.get(flow) ?? -Infinity, endOf(acquire)));
    const isInOrder = acquire.kind !== 'try' || run.leases?.[acquire.path] !== undefined;
    return (
      isAlone &&
      isInOrder &&
      acquire.weight === undefined &&
      !acquire.incarnation.isPeer &&
      acquire.granted !== undefined
    );
  });
}

function endOf({ refused, released }: Acquire): number {
  return refused?.t ?? released?.t ?? Infinity;
}

/** @param before the last grant on the path before the call */
function isUndisturbed(
  { calledAt, granted, incarnation, kind, path }: Granted,
  before: Granted | undefined,
  { faults, run }: History,
): boolean {
  if (kind === 'many' && (run.peers?.length ?? 0) > 0) return false;
  if (before === undefined || numberOf(granted) < numberOf(before.granted)) return false;
  if (incarnation.upsets.some((t) => t >= calledAt && t <= granted.t)) return false;
  return !faults.some(
    ({ kind, target, beganAt, healedAt }) =>
      kind === 'delete-znode' && target.startsWith(`${path}/`) && beganAt <= granted.t && healedAt >= calledAt,
  );
}

function numberOf({ hold }: Granted['granted']): number {
  return Number(/\d+$/.exec(znodeOf(hold)));
}
