import type { Acquire, History, Incarnation } from '../../lab/judge/folded-history.ts';
import { moment, seconds, type Violation } from '../../lab/judge/violation.ts';

/**
 * Promises that never settled, or settled long after their deadline, in a process that no fault killed. Also a process
 * that ended by itself, or that never ended.
 */
export function settled(history: History): Violation[] {
  const { acquires, incarnations } = history;
  const open = acquires
    .filter(({ incarnation }) => isAccountable(incarnation))
    .flatMap((acquire) => unsettled(acquire, history));
  return [
    ...open,
    ...acquires.flatMap((acquire) => late(acquire, history)),
    ...incarnations.flatMap((incarnation) => unfinished(incarnation, history)),
  ];
}

/**
 * False for a killed process, which cannot settle its promises. False for a process that died by itself, because its
 * death is reported once and not for each of its promises. False for peers, because this library cannot answer for them.
 */
function isAccountable({ isPeer, killedAt, leftAt, succeededAt }: Incarnation): boolean {
  return !isPeer && killedAt === undefined && (leftAt !== undefined || succeededAt === undefined);
}

function unsettled({ id, path, kind, calledAt, granted, refused, released }: Acquire, history: History): Violation[] {
  const tell = (what: string): Violation[] => [
    { check: 'settled', t: granted?.t ?? calledAt, text: `${id} (${path}, ${kind}) ${what}`, ids: [id] },
  ];
  if (granted === undefined && refused === undefined)
    return tell(`was called at ${moment(history, calledAt)} and never settled`);
  if (granted && released === undefined) return tell(`was granted at ${moment(history, granted.t)} and never released`);
  return [];
}

/** A timer of a busy process may be late, but not by a session timeout. A stopped process has no timers. */
function late(
  { id, path, incarnation, calledAt, timeoutMs, granted, refused }: Acquire,
  { faults, run }: History,
): Violation[] {
  const settledAt = granted?.t ?? refused?.t;
  if (timeoutMs === undefined || settledAt === undefined || incarnation.isPeer) return [];
  const lateMs = settledAt - calledAt - timeoutMs;
  if (lateMs <= run.sessionTimeoutMs) return [];
  const isStopped = faults.some(
    (fault) =>
      fault.isStopped &&
      fault.clients.includes(incarnation.client) &&
      fault.beganAt <= settledAt &&
      fault.healedAt >= calledAt,
  );
  return isStopped
    ? []
    : [
        {
          check: 'settled',
          t: settledAt,
          text: `${id} (${path}) settled ${seconds(lateMs)} after its timeout of ${timeoutMs} ms`,
          ids: [id],
        },
      ];
}

function unfinished(
  { client, isPeer, number, killedAt, leftAt, succeededAt }: Incarnation,
  { lastAt }: History,
): Violation[] {
  if (isPeer || killedAt !== undefined || leftAt !== undefined) return [];
  const what = succeededAt === undefined ? 'never left' : 'died, although no fault had killed it';
  return [{ check: 'settled', t: succeededAt ?? lastAt, text: `process ${number} of ${client} ${what}`, ids: [] }];
}
