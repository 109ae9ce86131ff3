import type { Finding } from '../../../packages/zklock/src/cli/check/finding.ts';
import { InProcess } from './in-process.ts';

export interface Checked {
  readonly code: number;
  readonly findings: readonly Finding[];
}

export async function check(connectString: string, ...words: string[]): Promise<Checked> {
  const run = new InProcess(connectString, ['check', '--json', ...words]);
  const code = await run.ended;
  return { code, findings: run.out === '' ? [] : (run.json as { findings: Finding[] }).findings };
}

export function levelOf({ findings }: Checked, subject: string): string | undefined {
  return findings.find((finding) => finding.subject.startsWith(subject))?.level;
}
