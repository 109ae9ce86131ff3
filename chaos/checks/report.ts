import type { HistoryEvent } from '../../lab/judge/history.ts';
import type { Figures } from './figures.ts';
import type { History } from '../../lab/judge/folded-history.ts';
import { moment, seconds, type Violation } from '../../lab/judge/violation.ts';

/** Each check prints this many violations with the surrounding events, and this many more with one line each. */
const told = { inFull: 5, inShort: 45 };
const eventsEachSide = 20;

export function report(history: History, violations: readonly Violation[], figures: Figures): string {
  const { run, lastAt } = history;
  const head = `seed ${run.seed}, ${run.clients.length} clients, ${run.paths.length} paths, ${seconds(lastAt - run.t)}`;
  const checks = [...new Set(violations.map(({ check }) => check))].map((check) =>
    tellAll(
      check,
      violations.filter((violation) => violation.check === check),
      history,
    ),
  );
  const verdict = violations.length === 0 ? 'no violations' : `${violations.length} violations, seed ${run.seed}`;
  return [head, table(figures), ...checks, verdict].join('\n\n');
}

export function table({ faults, losses, ...figures }: Figures): string {
  const rows: readonly (readonly [string, string])[] = [
    ['grants', `${figures.grants}`],
    ['of them re-entries', `${figures.reEntries}`],
    ['refusals', `${figures.refusals}`],
    ['grants after a rest', `${figures.afterRest}`],
    ['grants of peers', `${figures.grantsOfPeers}`],
    ['hand-overs with peers', `${figures.handOversWithPeers}`],
    ['writes accepted', `${figures.writesAccepted}`],
    ['writes refused', `${figures.writesRefused}`],
    ['readers together', `${figures.readersTogether}`],
    ['leases together', `${figures.leasesTogether}`],
    ['writers that downgraded to reading', `${figures.downgrades}`],
    ['pairs of calls checked for order', `${figures.pairsInOrder}`],
    ['overtakes by weight', `${figures.overtakes}`],
    ['of them at the limit', `${figures.lastOvertakes}`],
    ['most overtakes of one waiter', `${figures.mostOvertakes}`],
    ['longest time without progress', duration(figures.longestStandstillMs)],
    ['smallest margin, loss to grant', duration(figures.smallestMarginMs)],
    ['slowest notice of a deletion', duration(figures.slowestNewsMs)],
    ...Object.entries(losses).map(([reason, count]) => [`lost by ${reason}`, `${count}`] as const),
    ...Object.entries(faults).map(([kind, count]) => [kind, `${count}`] as const),
  ];
  const width = Math.max(...rows.map(([label]) => label.length));
  return rows.map(([label, value]) => `${label.padStart(width)}  ${value}`).join('\n');
}

function tellAll(check: string, violations: readonly Violation[], history: History): string {
  const inFull = violations
    .slice(0, told.inFull)
    .map((violation) => `${line(violation, history)}\n${surroundings(violation, history).join('\n')}\n`);
  const inShort = violations
    .slice(told.inFull, told.inFull + told.inShort)
    .map((violation) => line(violation, history));
  const more = violations.length - told.inFull - told.inShort;
  return [`${check}: ${violations.length}`, ...inFull, ...inShort, ...(more > 0 ? [`and ${more} more`] : [])].join(
    '\n',
  );
}

function line({ check, t, text }: Violation, history: History): string {
  return `seed ${history.run.seed}: ${check} at ${moment(history, t)}: ${text}`;
}

/**
 * The events before and after the violation, of its clients and on its paths. All events if the violation concerns no
 * acquire.
 */
export function surroundings({ t, ids }: Violation, history: History): string[] {
  const involved = history.acquires.filter(({ id }) => ids.includes(id));
  const paths = new Set(involved.map(({ path }) => path));
  const clients = new Set(involved.map(({ incarnation }) => incarnation.client));
  const onPath = new Set(history.acquires.filter(({ path }) => paths.has(path)).map(({ id }) => id));
  const isNear = (event: HistoryEvent): boolean => {
    if (ids.length === 0 || event.type === 'fault' || event.type === 'healed') return true;
    if ('client' in event && clients.has(event.client)) return true;
    return ('id' in event && onPath.has(event.id)) || ('path' in event && paths.has(event.path));
  };
  const after = history.events.findIndex((event) => event.t >= t);
  const middle = after < 0 ? history.events.length : after;
  const near = (index: number, step: number): HistoryEvent[] => {
    const found: HistoryEvent[] = [];
    for (let at = index; found.length < eventsEachSide; at += step) {
      const event = history.events[at];
      if (event === undefined) break;
      if (isNear(event)) found.push(event);
    }
    return found;
  };
  return [...near(middle - 1, -1).reverse(), ...near(middle, 1)].map((event) => eventLine(event, t, history));
}

function eventLine({ t, ...event }: HistoryEvent, at: number, history: History): string {
  return `${t === at ? '>' : ' '} ${moment(history, t).padStart(12)}  ${JSON.stringify(event)}`;
}

function duration(ms: number | undefined): string {
  return ms === undefined ? '-' : `${ms.toFixed(1)} ms`;
}
