// npm run histories [-- the options of chaos]: a run of chaos, whose history is written in Jepsen's form and judged. With
// one file, `npm run histories -- history.jsonl`: the same for a history of chaos. Exit code 1: a promise is broken; 2: no
// history.
import { dirname } from 'node:path';
import { check } from '../check.ts';
import { readOptions } from '../options.ts';
import { readHistory } from '../read-history.ts';
import { run } from '../run.ts';
import { writeFiles } from './files.ts';
import { judgeFiles, tableOf, type Row } from './judge.ts';

const shown = 20;

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  console.error(error);
  return 2;
});

async function main(args: readonly string[]): Promise<number> {
  const [given] = args;
  const file = args.length === 1 && given?.endsWith('.jsonl') ? given : await run(readOptions(args));
  const history = readHistory(file);
  const files = writeFiles(history, dirname(file));
  const { rows, findings } = judgeFiles(files);
  // The rules of chaos read the whole history, such as the state of each client, and what is left on the servers.
  const { violations } = check(history);
  const { acquires, events, faults, lastAt, run: begin } = history;
  const whole: Row = {
    promise: 'chaos’ rules',
    operations: acquires.length,
    details: `${events.length} events`,
    broken: violations.length,
  };
  console.log(
    `${faults.length} faults in ${((lastAt - begin.t) / 60_000).toFixed(1)} minutes, seed ${begin.seed}, ${begin.peers?.length ?? 0} of ${begin.clients.length} clients are Curator\n`,
  );
  console.log(tableOf([...rows, whole]));
  console.log(`\n${files.length} files in ${dirname(file)}`);
  for (const finding of findings.slice(0, shown))
    console.log(`\n${finding.file}: ${finding.rule} at index ${finding.index}: ${finding.text}`);
  if (findings.length > shown) console.log(`\nand ${findings.length - shown} more`);
  for (const { check: rule, text } of violations.slice(0, shown)) console.log(`\n${file}: ${rule}: ${text}`);
  return findings.length + violations.length === 0 ? 0 : 1;
}
