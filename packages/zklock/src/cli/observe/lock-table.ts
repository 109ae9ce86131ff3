import type { ActorJson, EventJson, LockJson, ParticipantJson } from '../../board/lock-json.js';
import { unownedAdvice } from '../../../../../src/internals/znode/unowned.js';
import { printable } from '../../../../../src/support/printable.js';
import { ageText } from './column.js';

/** One line of the table of locks. */
export interface LockRow {
  readonly path: string;
  readonly kind: string;
  readonly state: string;
  readonly holder: string;
  readonly since: string;
  readonly waiting: string;
}

export const lockHeader: LockRow = {
  path: 'PATH',
  kind: 'KIND',
  state: 'STATE',
  holder: 'HOLDER',
  since: 'SINCE',
  waiting: 'WAITING',
};

export function lockRow(lock: LockJson, nowMs: number): LockRow {
  const [first] = lock.holders;
  const others = lock.holderCount - 1;
  return {
    path: printable(lock.path),
    kind: lock.kind,
    state: stateText(lock, nowMs),
    holder: first ? `${whoText(first)}${askedText(first)}${others > 0 ? ` and ${others} more` : ''}` : '-',
    since: first ? sinceText(first, nowMs) : '-',
    waiting: String(lock.waiterCount),
  };
}

/** The state of a lock. A lock of which not all can be read says since when. */
export function stateText({ state, unreadableSince }: LockJson, nowMs: number): string {
  return unreadableSince === null ? state : unreadableFor(unreadableSince, nowMs);
}

/** The rows in columns as wide as they need to be. */
export function tableText(rows: readonly LockRow[]): string {
  const names = Object.keys(lockHeader) as (keyof LockRow)[];
  const widths = names.map((name) => Math.max(...rows.map((row) => row[name].length)));
  return rows
    .map(
      (row) =>
        `${names
          .map((name, index) => row[name].padEnd(widths[index] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** `onServers` adds the chroot to a path. */
export interface StatusContext {
  readonly nowMs: number;
  readonly onServers: (path: string) => string;
}

/** Everything about one lock. */
export function statusText(lock: LockJson, { nowMs, onServers }: StatusContext): string {
  const lines = [
    `${printable(lock.path)}: ${lock.kind}, ${stateText(lock, nowMs)}, ${lock.waiterCount} waiting${othersText(lock.otherCount)}`,
  ];
  const add = (title: string, one: ParticipantJson): void =>
    void lines.push(...participantLines(title, one, { nowMs, onServers }));
  for (const holder of lock.holders) add('holder', holder);
  for (const waiter of lock.waiters) add(`waiter ${waiter.position}`, waiter);
  return `${lines.join('\n')}\n`;
}

/** The znodes that are no participants. Empty if there are none. */
export function othersText(count: number): string {
  return count === 0 ? '' : `, ${count} other ${count === 1 ? 'znode' : 'znodes'}`;
}

/** One line for a log. */
export function eventText({ at, path, type, from, to, duringOutage }: EventJson): string {
  const who = [from && `from ${actorText(from)}`, to && `to ${actorText(to)}`].filter(Boolean).join(' ');
  return `${at} ${type.padEnd(11)} ${printable(path)} ${who}${duringOutage ? ' (during the outage)' : ''}`;
}

/** The owner of a znode, as short as possible. */
export function whoText({ host, pid, sessionId, data, unreadableSince }: Omit<ActorJson, 'path'>): string {
  if (unreadableSince !== null && sessionId === null) return 'not readable';
  const known = host === null ? (data ?? '') : pid === null ? host : `${host} pid ${pid}`;
  const session = sessionId === null ? ['owned by no session'] : known === '' ? [`session ${sessionId}`] : [];
  return printable([...(known === '' ? [] : [known]), ...session].join(', '));
}

/** `≤`: the grant was not seen, so the holder's time in the queue may be part of the age. */
export function sinceText({ heldSince, queuedAt }: ParticipantJson, nowMs: number): string {
  if (heldSince !== null) return ageText(nowMs - Date.parse(heldSince));
  return queuedAt === null ? '?' : `≤ ${ageText(nowMs - Date.parse(queuedAt))}`;
}

function unreadableFor(since: string, nowMs: number): string {
  return `not readable for ${ageText(nowMs - Date.parse(since))}`;
}

function askedText({ asked }: ParticipantJson): string {
  return asked === null ? '' : ', asked to release';
}

function actorText(actor: ActorJson): string {
  return actor.sessionId === null ? whoText(actor) : `${whoText(actor)} [${actor.sessionId}]`;
}

function participantLines(title: string, one: ParticipantJson, { nowMs, onServers }: StatusContext): string[] {
  const said = [
    whoText(one),
    one.role ?? '',
    one.weight === null ? '' : `weight ${one.weight}`,
    one.isIdle ? 'idle' : '',
    one.asked === null ? '' : `asked to release (${one.asked})`,
  ].filter((part) => part !== '');
  const held = one.position === 0 ? [`held     ${sinceText(one, nowMs)}`, `token    ${one.fencingToken ?? '-'}`] : [];
  const read =
    one.queuedAt === null
      ? []
      : [
          `session  ${one.sessionId ?? `none, so it never goes by itself. ${printable(unownedAdvice(onServers(one.path)))}`}`,
          `queued   ${one.queuedAt} (${ageText(nowMs - Date.parse(one.queuedAt))} ago)`,
          ...held,
          `data     ${one.data === null ? 'not known: the request to release has replaced it' : printable(one.data) || '(none)'}`,
        ];
  const hidden = one.unreadableSince === null ? [] : [`read     ${unreadableFor(one.unreadableSince, nowMs)}`];
  const rows = [`znode    ${printable(one.path)}`, ...read, ...hidden];
  return [`  ${title}: ${said.join(', ')}`, ...rows.map((row) => `    ${row}`)];
}
