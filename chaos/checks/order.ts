import { grouped, type Acquire, type Granted, type History } from './folded-history.ts';
import { nameOf } from './owner.ts';
import { moment, type Violation } from './violation.ts';

/**
 * Two calls of one process for one path, made one after the other and waiting at the same time, were granted the other
 * way round.
 */
export function order(history: History): Violation[] {
  return pairsInOrder(history)
    .filter(([first, second]) => second.granted.t < first.granted.t)
    .map(([first, second]) => {
      const overtaken = `which was called before it, at ${moment(history, first.calledAt)}, and got it at ${moment(history, first.granted.t)}`;
      return {
        check: 'order',
        t: second.granted.t,
        text: `${nameOf(second)} overtook ${nameOf(first)}, ${overtaken}`,
        ids: [first.id, second.id],
      };
    });
}

/**
 * The pairs whose order is certain. Calls create their znodes in the order in which they were made, as long as nothing
 * happens to their
 * session, to its connection, or to a znode of theirs: what is created anew goes to the back of the queue. A tryAcquire
 * does not queue up, and may be overtaken; that
 * of a semaphore must not overtake those who wait. A call for several leases may give way to Java's, and go to the back
 * of the queue;
 * who re-enters does not either, and who waits in memory for another acquire of its own flow may create later than it
 * called. Readers that are
 * let in together may come to their code in any order; leases are given one after another, like a mutex. The threads of
 * a peer call at the same time.
 * Where there are weights, `weights` asks who may overtake whom.
 * Who calls before anything was ever granted on a path may have to create it first, while those who call later find it
 * there.
 */
export function pairsInOrder(history: History): [Granted, Granted][] {
  return [...grouped(queuers(history), ({ incarnation, path }) => `${incarnation.client} ${path}`).values()].flatMap(
    (calls) => {
      const pairs: [Granted, Granted][] = [];
      let waiting: Granted[] = [];
      for (const call of calls) {
        waiting = waiting.filter(({ granted }) => granted.t > call.calledAt);
        for (const earlier of waiting)
          if (call.role !== 'reader' || earlier.role !== 'reader') pairs.push([earlier, call]);
        if (call.kind !== 'try' && isUndisturbed(call, history)) waiting.push(call);
      }
      return pairs;
    },
  );
}

/** In the order of their calls. */
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

function isUndisturbed(
  { calledAt, granted, incarnation, kind, path }: Granted,
  { faults, grants, run }: History,
): boolean {
  if (kind === 'many' && (run.peers?.length ?? 0) > 0) return false;
  if (calledAt < (grants.get(path)?.[0]?.granted.t ?? Infinity)) return false;
  if (incarnation.upsets.some((t) => t >= calledAt && t <= granted.t)) return false;
  return !faults.some(
    ({ kind, target, beganAt, healedAt }) =>
      kind === 'delete-znode' && target.startsWith(`${path}/`) && beganAt <= granted.t && healedAt >= calledAt,
  );
}
