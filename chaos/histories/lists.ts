import type { ListUse, History } from '../../lab/judge/folded-history.ts';
import type { Span } from './operation.ts';

/** A micro-operation of Elle's list-append. */
export type ListStep = readonly ['r', string, readonly number[] | null] | readonly ['append', string, number];

/** The uses of all lists as transactions, and a read of each list at the end. */
export function listSpans({ acquires, end }: History): Span[] {
  const uses = acquires.flatMap(({ path, lists }) => lists.map((use) => spanOf(path, use)));
  const last = Object.entries(end?.lists ?? {}).map(([path, { part, numbers }]): Span => {
    const t = end?.t ?? 0;
    const key = keyOf(path, part);
    return { f: 'txn', from: t, to: t, type: 'ok', invoked: [['r', key, null]], ended: [['r', key, numbers]] };
  });
  return [...uses, ...last];
}

function spanOf(path: string, { part, numbers, append, appended, from, readAt }: ListUse): Span {
  const key = keyOf(path, part);
  const added: ListStep[] = append ? [['append', keyOf(path, append.part), append.number]] : [];
  const ended: ListStep[] = [['r', key, numbers], ...added];
  const invoked: ListStep[] = [['r', key, null], ...added];
  if (!append) return { f: 'txn', from, to: readAt, type: 'ok', invoked, ended };
  return { f: 'txn', from, to: appended?.t ?? Infinity, type: appended?.outcome ?? 'info', invoked, ended };
}

function keyOf(path: string, part: number): string {
  return `${path.slice(path.lastIndexOf('/') + 1)}-${part}`;
}
