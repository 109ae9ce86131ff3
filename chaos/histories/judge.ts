import { readFileSync } from 'node:fs';
import { grouped } from '../../lab/judge/folded-history.ts';
import type { HistoryFile } from './files.ts';
import { callsOf, parseOperations, type Call } from './operation.ts';
import type { Broken } from './rules/broken.ts';
import { lists } from './rules/lists.ts';
import { excludes, heldOf, locks } from './rules/locks.ts';
import { registers } from './rules/registers.ts';

/** A file that shows a broken promise. */
export interface Finding extends Broken {
  readonly file: string;
}

/** One line of the table. */
export interface Row {
  readonly promise: string;
  readonly operations: number;
  readonly details: string;
  readonly broken: number;
}

export interface Verdict {
  readonly rows: readonly Row[];
  readonly findings: readonly Finding[];
}

const rules = { 'list-append': lists, register: registers, lock: locks } as const;

/** Judges the files, and reads nothing else. */
export function judgeFiles(files: readonly HistoryFile[]): Verdict {
  const read = files.map(({ workload, file }) => {
    const calls = callsOf(parseOperations(readFileSync(file, 'utf8')));
    return { workload, calls, findings: rules[workload](calls).map((broken) => ({ ...broken, file })) };
  });
  const findings = read.flatMap((each) => each.findings);
  const callsOfWorkload = (wanted: HistoryFile['workload']): Call[][] =>
    read.filter(({ workload }) => workload === wanted).map(({ calls }) => calls);
  const brokenOf = (wanted: HistoryFile['workload']): number =>
    read.filter(({ workload }) => workload === wanted).flatMap((each) => each.findings).length;
  const byRule = (rule: string): number =>
    read
      .filter(({ workload }) => workload === 'lock')
      .flatMap((each) => each.findings.filter((one) => one.rule === rule)).length;
  const onLocks = callsOfWorkload('lock').map(heldOf);
  const held = onLocks.flat();
  const marginsMs = onLocks.flatMap((all) =>
    all.flatMap((one, place) => {
      const next = one.hold.end === 'told' ? all.slice(place + 1).find((other) => excludes(one, other)) : undefined;
      return next ? [(next.grantedAt - one.endedAt) / 1e6] : [];
    }),
  );
  const told = held.filter(({ hold }) => hold.end === 'told');
  const ofPeers = held.filter(({ hold }) => hold.isPeer);
  const closest =
    marginsMs.length > 0 ? `, the next grant ${Math.round(Math.min(...marginsMs))} ms later at least` : '';
  const ordered = held.filter(({ hold }) => !hold.hasWeight && hold.role !== 'lease');
  const of = (promise: string, calls: readonly Call[], broken: number): Row => ({
    promise,
    operations: calls.length,
    details: outcomes(calls),
    broken,
  });
  return {
    rows: [
      of('list-append', callsOfWorkload('list-append').flat(), brokenOf('list-append')),
      of('register', callsOfWorkload('register').flat(), brokenOf('register')),
      of('exclusion', callsOfWorkload('lock').flat(), byRule('exclusion')),
      {
        promise: 'order',
        operations: ordered.length,
        details: `grants, ${ofPeers.length} of all to Curator`,
        broken: byRule('order'),
      },
      { promise: 'told in time', operations: told.length, details: `losses${closest}`, broken: byRule('told') },
    ],
    findings,
  };
}

export function tableOf(rows: readonly Row[]): string {
  const lines = [
    ['promise', 'operations', 'broken', 'of them'],
    ...rows.map(({ promise, operations, details, broken }) => [promise, `${operations}`, `${broken}`, details]),
  ];
  const widths = [0, 1, 2].map((column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  return lines
    .map((line) =>
      line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))),
    )
    .map((line) => line.join('  '))
    .join('\n');
}

function outcomes(calls: readonly Call[]): string {
  const counts = grouped(calls, ({ to }) => to?.type ?? 'info');
  return ['ok', 'fail', 'info'].map((type) => `${counts.get(type)?.length ?? 0} ${type}`).join(', ');
}
