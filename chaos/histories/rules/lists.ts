import { grouped } from '../../../lab/judge/folded-history.ts';
import type { ListStep } from '../lists.ts';
import type { Call } from '../operation.ts';
import type { Broken } from './broken.ts';

/**
 * The promises of list-append, for transactions of at most one read and one append:
 * - no number is in a list twice, none that was refused or that nobody wrote, and none before it was written;
 * - all reads of a list are the beginning of the longest one;
 * - an append that was done is in the longest list, right behind what its transaction read, and in each read that begins
 *   after the answer.
 *
 * What nobody knows may be in the list or not.
 */
export function lists(calls: readonly Call[]): Broken[] {
  const reads = grouped(calls.flatMap(readOf), ({ key }) => key);
  const appends = calls.flatMap(appendOf);
  const longest = new Map([...reads].map(([key, all]) => [key, longestOf(all)]));
  const byNumber = new Map(appends.map((append) => [append.number, append]));
  return [
    ...[...reads.values()].flat().flatMap((read) => judgeRead(read, longest.get(read.key) ?? [], byNumber)),
    ...appends.flatMap((append) => judgeAppend(append, longest, reads.get(append.key) ?? [])),
  ];
}

interface Read {
  readonly key: string;
  readonly numbers: readonly number[];
  readonly from: number;
  readonly to: number;
}

interface Append {
  readonly key: string;
  readonly number: number;
  readonly from: number;
  readonly to: number;
  readonly type: Call['from']['type'];
  readonly read: Read | undefined;
}

/** The read of a transaction is known even if nobody knows whether its append was done. */
function readOf({ from, to }: Call): Read[] {
  return stepsOf(to).flatMap(([is, key, value]) =>
    is === 'r' && value !== null ? [{ key, numbers: value, from: from.index, to: to?.index ?? Infinity }] : [],
  );
}

function appendOf(call: Call): Append[] {
  const { from, to } = call;
  const [read] = readOf(call);
  return stepsOf(from).flatMap(([is, key, number]) =>
    is === 'append'
      ? [{ key, number, from: from.index, to: to?.index ?? Infinity, type: to?.type ?? 'info', read }]
      : [],
  );
}

function stepsOf(operation: Call['to']): readonly ListStep[] {
  return (operation?.value ?? []) as readonly ListStep[];
}

function longestOf(reads: readonly Read[]): readonly number[] {
  return reads.reduce<readonly number[]>((a, { numbers }) => (numbers.length > a.length ? numbers : a), []);
}

function judgeRead(read: Read, longest: readonly number[], appends: ReadonlyMap<number, Append>): Broken[] {
  const { key, numbers, to: index } = read;
  const tell = (rule: string, text: string): Broken => ({ rule, text: `${key}: ${text}`, index });
  const ofNumbers = numbers.flatMap((number, at) => {
    const append = appends.get(number);
    if (numbers.indexOf(number) < at) return [tell('twice', `${number} is in the list twice`)];
    if (append?.key !== key) return [tell('phantom', `${number} is in the list, but nobody appended it`)];
    if (append.type === 'fail') return [tell('refused', `${number} is in the list, but its append was refused`)];
    if (append.from > index) return [tell('future', `${number} was read before it was appended`)];
    return [];
  });
  const isPrefix = numbers.every((number, at) => longest[at] === number);
  return isPrefix ? ofNumbers : [...ofNumbers, tell('order', 'the list is not a beginning of the longest list read')];
}

function judgeAppend(
  { key, number, to, type, read }: Append,
  longest: ReadonlyMap<string, readonly number[]>,
  reads: readonly Read[],
): Broken[] {
  if (type !== 'ok') return [];
  const tell = (rule: string, text: string, index = to): Broken[] => [{ rule, text: `${key}: ${text}`, index }];
  const list = longest.get(key) ?? [];
  const place = list.indexOf(number);
  if (place < 0) return tell('lost', `${number} was acknowledged, and is missing`);
  const without = reads.find(({ from, numbers }) => from > to && !numbers.includes(number));
  if (without) return tell('stale', `${number} was acknowledged, and is missing in a later read`, without.to);
  if (read === undefined) return [];
  const before = read.key === key ? list.slice(0, place) : (longest.get(read.key) ?? []);
  const isBehind = (read.key === key || place === 0) && isSame(before, read.numbers);
  return isBehind ? [] : tell('between', `another append came between the read and the append of ${number}`);
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((number, at) => number === b[at]);
}
