// node scripts/prose.mjs [files]: finds sentences that have to be read twice, by the patterns of scripts/prose/patterns.mjs
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './bootstrap.mjs';
import { patterns } from './prose/patterns.mjs';
import { passagesOf } from './prose/passages.mjs';

for (const { name, regex, example } of patterns) {
  if (!regex.test(example)) throw new Error(`The pattern "${name}" does not find its own example: ${example}`);
}

const git = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
});
const asked = process.argv.slice(2);
const files = git.stdout
  .split('\n')
  .filter(
    (file) => /\.(?:ts|mjs|js|md|java|py)$/.test(file) && !file.startsWith('scripts/prose') && !file.startsWith('api/'),
  )
  .filter((file) => existsSync(join(root, file)))
  .filter((file) => asked.length === 0 || asked.some((start) => file.startsWith(start)));

let found = 0;
for (const file of files) {
  for (const { text, line, kind } of passagesOf(file, readFileSync(join(root, file), 'utf8'))) {
    for (const { name, regex, instead, in: kinds } of patterns) {
      if (kinds && !kinds.includes(kind)) continue;
      const match = regex.exec(text);
      if (!match) continue;
      found += 1;
      console.log(`${file}:${line}: ${name} ("${match[0].trim()}"): ${instead}`);
    }
  }
}
console.log(`${files.length} files read, ${found} ${found === 1 ? 'sentence' : 'sentences'} to rewrite`);
process.exitCode = git.status === 0 && files.length > 0 && found === 0 ? 0 : 1;
