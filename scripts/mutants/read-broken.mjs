import { readFileSync } from 'node:fs';

/**
 * Reads a list of broken versions of the code. Each begins with a file and its name. Below them are the code that is found
 * in the file (`-`), and the code that replaces it (`+`), then the further files. `fails` names the tests of a mutant: their
 * file, and a part of their names. `java` is the number of Java clients in a run of chaos.
 */
export function readBroken(url) {
  const all = [];
  for (const line of readFileSync(url, 'utf8').split('\n')) {
    if (/^\s*(#|$)/.test(line)) continue;
    if (line.startsWith('  ')) add(line.slice(2), all.at(-1));
    else all.push(begin(...halves(line)));
  }
  return all;
}

function begin(file, name) {
  return { name, edits: [{ file, find: '', replace: '' }], tests: { files: [], named: [] } };
}

function add(line, broken) {
  const [, kind, rest] = /^([-+]|fails|java) (.*)$/.exec(line) ?? [];
  const { edits, tests } = broken;
  if (kind === '-') append('find', rest, edits.at(-1));
  else if (kind === '+') append('replace', rest, edits.at(-1));
  else if (kind === 'java') broken.java = Number(rest);
  else if (kind === 'fails') {
    const [file, named] = halves(rest);
    tests.files = [...new Set([...tests.files, file])];
    tests.named.push(named);
  } else if (/^\S+\.\w+$/.test(line)) edits.push({ file: line, find: '', replace: '' });
  else throw new SyntaxError(`Expected a file, or a line that begins with -, +, fails or java, got ${line}`);
}

function halves(line) {
  const at = line.indexOf(': ');
  if (at === -1) throw new SyntaxError(`Expected a file, a colon and a name, got ${line}`);
  return [line.slice(0, at), line.slice(at + 2)];
}

function append(part, line, edit) {
  edit[part] += edit[part] === '' ? line : `\n${line}`;
}
