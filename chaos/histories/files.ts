import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { History } from '../../lab/judge/folded-history.ts';
import { listSpans } from './lists.ts';
import { lockSpans } from './locks.ts';
import { linesOf, operationsOf, type Span } from './operation.ts';
import { registerSpans } from './registers.ts';

/** Which rules judge a file. */
export type Workload = 'list-append' | 'register' | 'lock';

export interface HistoryFile {
  readonly workload: Workload;
  readonly file: string;
}

/** Writes a history in Jepsen's form: all lists into one file, and a file for each register and each lock. */
export function writeFiles(history: History, folder: string): HistoryFile[] {
  const write = (workload: Workload, path: string, spans: readonly Span[]): HistoryFile => {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const file = join(folder, `${[workload, name].filter((part) => part !== '').join('-')}.jsonl`);
    writeFileSync(file, linesOf(operationsOf(spans, history.run.t)));
    return { workload, file };
  };
  return [
    write('list-append', '', listSpans(history)),
    ...[...registerSpans(history)].map(([path, spans]) => write('register', path, spans)),
    ...[...lockSpans(history)].map(([path, spans]) => write('lock', path, spans)),
  ];
}
