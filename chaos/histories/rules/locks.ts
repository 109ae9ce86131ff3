import type { Call, HoldNote } from '../operation.ts';
import type { Broken } from './broken.ts';

export interface Held {
  readonly hold: HoldNote & { readonly znode: string; readonly token: string };
  /** The index at which the acquire had returned, and that at which the release began. */
  readonly from: number;
  readonly to: number;
  /** The same in nanoseconds. */
  readonly grantedAt: number;
  readonly endedAt: number;
}

/**
 * The promises of one lock:
 * - `exclusion`: an owner that has the lock alone is alone, and no more leases are held than there are permits;
 * - `told`: the same, where the earlier holder lost the lock: it learned of the loss before the next was granted;
 * - `order`: grants follow the order in which the servers created the znodes. With weights, and among readers or leases,
 *   the history of `npm run chaos` is judged instead.
 *
 * Two peers may do among themselves what they like.
 */
export function locks(calls: readonly Call[]): Broken[] {
  const held = heldOf(calls);
  return [...overlaps(held), ...order(held)];
}

/** Ordered by their grants. */
export function heldOf(calls: readonly Call[]): Held[] {
  const releases = new Map(calls.filter(({ f }) => f === 'release').map(({ from }) => [nameOf(from.hold), from]));
  return calls
    .flatMap(({ f, to }) => {
      if (f !== 'acquire' || to?.type !== 'ok' || to.hold?.znode === undefined) return [];
      const release = releases.get(nameOf(to.hold));
      const hold = { ...to.hold, ...release?.hold } as Held['hold'];
      const end = { to: release?.index ?? Infinity, endedAt: release?.time ?? Infinity };
      return [{ hold, from: to.index, grantedAt: to.time, ...end }];
    })
    .sort((a, b) => a.from - b.from);
}

/** True if two holds must not exist at the same time. A writer that downgrades to reading is one owner. */
export function excludes({ hold: a }: Held, { hold: b }: Held): boolean {
  const share = a.role === b.role && (a.role === 'reader' || a.role === 'lease');
  return !share && a.owner !== b.owner && !(a.isPeer && b.isPeer);
}

function overlaps(held: readonly Held[]): Broken[] {
  let open: Held[] = [];
  return held.flatMap((next) => {
    open = [...open.filter(({ to }) => to > next.from), next];
    const others = open.filter((other) => other !== next && excludes(other, next));
    const { permits = Infinity } = next.hold;
    const isCrowd = open.length > permits && !open.every(({ hold }) => hold.isPeer);
    const crowd = isCrowd ? [tell('exclusion', next, `is one of ${open.length} leases of ${permits}`)] : [];
    return [
      ...others.map((other) => {
        const rule = other.hold.end === 'told' ? 'told' : 'exclusion';
        const ms = Math.round((other.endedAt - next.grantedAt) / 1e6);
        return tell(rule, next, `was granted ${ms} ms before ${other.hold.owner} released, or learned of its loss`);
      }),
      ...crowd,
    ];
  });
}

function order(held: readonly Held[]): Broken[] {
  let [largest, largestAlone]: (Held | undefined)[] = [];
  return held.flatMap((next) => {
    const { hasWeight, role } = next.hold;
    if (hasWeight || role === 'lease') return [];
    const bound = role === 'reader' ? largestAlone : largest;
    const isBehind = bound === undefined || tokenOf(next) > tokenOf(bound) || !excludes(bound, next);
    if (largest === undefined || tokenOf(next) > tokenOf(largest)) largest = next;
    if (role !== 'reader' && (largestAlone === undefined || tokenOf(next) > tokenOf(largestAlone))) largestAlone = next;
    return isBehind ? [] : [tell('order', next, `was granted after ${bound.hold.owner} (${bound.hold.znode})`)];
  });
}

function tokenOf({ hold }: Held): bigint {
  return BigInt(hold.token);
}

function tell(rule: string, { hold, from }: Held, text: string): Broken {
  return { rule, text: `${hold.owner} (${hold.role}, ${hold.znode}) ${text}`, index: from };
}

function nameOf(hold: HoldNote | undefined): string {
  return `${hold?.owner} ${hold?.role} ${hold?.znode}`;
}
