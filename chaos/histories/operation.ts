import type { Role } from '../../lab/judge/history.ts';

/** An operation as Jepsen writes it: its begin, or its end. */
export interface Operation {
  readonly type: 'invoke' | 'ok' | 'fail' | 'info';
  readonly f: string;
  readonly value: unknown;
  /** Has one operation at a time. An operation that nobody knows the end of ends its process. */
  readonly process: number;
  /** Nanoseconds since the run began. */
  readonly time: number;
  readonly index: number;
  /** Jepsen's checkers leave it alone. */
  readonly token?: string;
  readonly hold?: HoldNote;
}

/** The hold that an acquire or a release is about. */
export interface HoldNote {
  readonly owner: string;
  readonly role: Role;
  /** True if the client is not this library. */
  readonly isPeer: boolean;
  /** True if its place in the queue also depends on weights. */
  readonly hasWeight: boolean;
  /** The permits of a semaphore. */
  readonly permits?: number;
  /** Absent without a grant. */
  readonly znode?: string;
  readonly token?: string;
  /**
   * The reason of a release: `told` if the code learned that it had lost the lock, `excused` if no client can learn of the
   * end in time.
   */
  readonly end?: 'released' | 'told' | 'excused';
}

/** An operation with both its ends, in milliseconds of the history. */
export interface Span {
  readonly f: string;
  readonly from: number;
  /** Infinity if the operation never ended. */
  readonly to: number;
  readonly invoked: unknown;
  readonly ended: unknown;
  readonly type: 'ok' | 'fail' | 'info';
  readonly notes?: Pick<Operation, 'token' | 'hold'>;
}

/** Orders the ends of all spans by time, and gives each span a process that is free. */
export function operationsOf(spans: readonly Span[], startedAt: number): Operation[] {
  const ends = spans.flatMap((span) => [
    { span, at: span.from, isBegin: true },
    { span, at: Math.max(span.from, span.to), isBegin: false },
  ]);
  ends.sort((a, b) => (a.at === b.at ? 0 : a.at - b.at));
  const processes = new Map<Span, number>();
  const free: number[] = [];
  let count = 0;
  const known = ends.filter(({ at }) => at < Infinity);
  const lastAt = known.at(-1)?.at ?? startedAt;
  return ends.map(({ span, at, isBegin }, index) => {
    const process = processes.get(span) ?? free.pop() ?? (count += 1) - 1;
    processes.set(span, process);
    if (!isBegin && span.type !== 'info') free.push(process);
    const time = Math.round((Math.min(at, lastAt) - startedAt) * 1e6);
    const { f, type, invoked, ended, notes } = span;
    return { type: isBegin ? 'invoke' : type, f, value: isBegin ? invoked : ended, process, time, index, ...notes };
  });
}

/** JSON lines. */
export function linesOf(operations: readonly Operation[]): string {
  return operations.map((operation) => `${JSON.stringify(operation)}\n`).join('');
}

/** An operation whose ends are found again in a file. */
export interface Call {
  readonly f: string;
  readonly from: Operation;
  /** Undefined if it did not end. */
  readonly to: Operation | undefined;
}

/** @throws Error for a process that does two operations at once, or for an end without a begin */
export function callsOf(operations: readonly Operation[]): Call[] {
  const open = new Map<number, Operation>();
  const calls: Call[] = [];
  for (const operation of operations) {
    const { type, process, index } = operation;
    const from = open.get(process);
    if ((type === 'invoke') === (from !== undefined))
      throw new Error(`Expected process ${process} to do one operation at a time, got ${type} at index ${index}`);
    if (from === undefined) open.set(process, operation);
    else {
      calls.push({ f: from.f, from, to: operation });
      open.delete(process);
    }
  }
  for (const from of open.values()) calls.push({ f: from.f, from, to: undefined });
  return calls.sort((a, b) => a.from.index - b.from.index);
}

/** @throws Error that names the line */
export function parseOperations(text: string): Operation[] {
  return text.split('\n').flatMap((line, at) => {
    if (line.trim() === '') return [];
    const operation = JSON.parse(line) as Operation;
    const { type, process, index } = operation;
    if (!['invoke', 'ok', 'fail', 'info'].includes(type) || !Number.isInteger(process) || !Number.isInteger(index))
      throw new Error(`line ${at + 1}: Expected an operation with type, process and index, got ${line.slice(0, 80)}`);
    return [operation];
  });
}
