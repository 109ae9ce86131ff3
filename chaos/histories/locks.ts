import { claimOf, toldAt, type Claim } from '../../lab/judge/claim.ts';
import { grouped, type Acquire, type Granted, type History } from '../../lab/judge/folded-history.ts';
import type { HoldNote, Span } from './operation.ts';

/**
 * Acquires and releases of each path. A hold lasts from its grant until its code released it, or learned of the loss.
 * Code that is stopped or dead cannot learn of anything, so its hold ends at the stop; a peer's hold lasts as long as
 * the servers have confirmed it (see {@link claimOf}). A re-entry is a part of the hold that it enters.
 */
export function lockSpans(history: History): Map<string, Span[]> {
  const paths = grouped(history.acquires, ({ path }) => path);
  return new Map([...paths].map(([path, acquires]) => [path, spansOf(acquires, history)]));
}

function spansOf(acquires: readonly Acquire[], history: History): Span[] {
  const granted = acquires.filter(isGranted);
  const claims = granted.map((acquire) => claimOf(acquire, history)).filter(({ from, to }) => from <= to);
  const holds = [
    ...grouped(claims, ({ acquire }) => `${acquire.flow} ${acquire.role} ${acquire.granted.hold}`).values(),
  ];
  const held = new Set(claims.map(({ acquire }) => acquire.id));
  const inVain = acquires.filter(({ id }) => !held.has(id)).map((acquire) => vainSpan(acquire, history));
  return [...inVain, ...holds.flatMap((all) => holdSpans(all, history))];
}

function vainSpan(acquire: Acquire, history: History): Span {
  const { calledAt, granted, refused } = acquire;
  const settled = granted ?? refused;
  const notes = { hold: noteOf(acquire, history) };
  // A grant that was lost before its code got it is no grant.
  return {
    ...nothing,
    f: 'acquire',
    from: calledAt,
    to: settled?.t ?? Infinity,
    type: settled ? 'fail' : 'info',
    notes,
  };
}

function holdSpans(claims: readonly Claim[], history: History): Span[] {
  const [first, ...others] = claims;
  if (first === undefined) return [];
  const last = others.reduce((a, b) => (b.to > a.to ? b : a), first);
  const { calledAt, granted, released } = first.acquire;
  const hold = { ...noteOf(first.acquire, history), znode: granted.hold, token: String(granted.token) };
  const end = endOf(last);
  const releasedAt = last.acquire.released?.t ?? released?.t ?? last.to;
  return [
    { ...nothing, f: 'acquire', from: calledAt, to: granted.t, type: 'ok', notes: { hold } },
    {
      ...nothing,
      f: 'release',
      from: last.to,
      to: end === 'released' ? Math.max(releasedAt, last.to) : last.to,
      type: 'ok',
      notes: { hold: { ...hold, end } },
    },
  ];
}

function endOf({ acquire, to }: Claim): NonNullable<HoldNote['end']> {
  const { incarnation, lost, observations, releasingAt = Infinity, released } = acquire;
  if (incarnation.isPeer) return released?.outcome === 'released' ? 'released' : 'excused';
  if (toldAt(acquire) > to) return 'excused';
  const learnedAt = Math.min(lost?.t ?? Infinity, observations.find(({ valid }) => !valid)?.t ?? Infinity);
  return learnedAt <= releasingAt ? 'told' : 'released';
}

function noteOf({ flow, role, incarnation, path, weight }: Acquire, { run }: History): HoldNote {
  const permits = role === 'lease' ? run.leases?.[path] : undefined;
  return {
    owner: flow,
    role,
    isPeer: incarnation.isPeer,
    hasWeight: weight !== undefined,
    ...(permits === undefined ? {} : { permits }),
  };
}

function isGranted(acquire: Acquire): acquire is Granted {
  return acquire.granted !== undefined;
}

const nothing = { invoked: null, ended: null } as const;
