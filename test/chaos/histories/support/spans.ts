import type { Role } from '../../../../lab/judge/history.ts';
import { callsOf, operationsOf, type Call, type HoldNote, type Span } from '../../../../chaos/histories/operation.ts';
import type { ListStep } from '../../../../chaos/histories/lists.ts';

type Outcome = Span['type'];

export function calls(...spans: readonly Span[]): Call[] {
  return callsOf(operationsOf(spans, 0));
}

/** The names of the rules that these operations break, each once. */
export function brokenBy(
  judge: (calls: readonly Call[]) => readonly { rule: string }[],
  spans: readonly Span[],
): string[] {
  return [...new Set(judge(calls(...spans)).map(({ rule }) => rule))].sort();
}

/** A transaction: the list that it reads and, unless only that, the number that it appends. */
export function txn(
  [from, to]: readonly [number, number],
  numbers: readonly number[],
  append?: number,
  { type = 'ok', key = 'a-0', next = key }: { type?: Outcome; key?: string; next?: string } = {},
): Span {
  const added: ListStep[] = append === undefined ? [] : [['append', next, append]];
  return { f: 'txn', from, to, type, invoked: [['r', key, null], ...added], ended: [['r', key, numbers], ...added] };
}

export function write([from, to]: readonly [number, number], value: number, token: number, type: Outcome = 'ok'): Span {
  return { f: 'write', from, to, type, invoked: value, ended: value, notes: { token: `${token}` } };
}

export function read([from, to]: readonly [number, number], value: number | null): Span {
  return { f: 'read', from, to, type: 'ok', invoked: null, ended: value };
}

export interface HeldPlan {
  readonly role?: Role;
  readonly owner?: string;
  readonly isPeer?: boolean;
  readonly hasWeight?: boolean;
  readonly permits?: number;
  readonly end?: NonNullable<HoldNote['end']>;
}

/** A hold from one time to another, by a znode with this token. */
export function held([from, to]: readonly [number, number], token: number, plan: HeldPlan = {}): Span[] {
  const { end = 'released', ...note } = {
    role: 'owner',
    owner: `o${token}`,
    isPeer: false,
    hasWeight: false,
    ...plan,
  } as const;
  const hold = { ...note, znode: `/a/lock-${token}`, token: `${token}` };
  const empty = { invoked: null, ended: null, type: 'ok' } as const;
  return [
    { ...empty, f: 'acquire', from: from - 1, to: from, notes: { hold } },
    { ...empty, f: 'release', from: to, to: to + 1, notes: { hold: { ...hold, end } } },
  ];
}
