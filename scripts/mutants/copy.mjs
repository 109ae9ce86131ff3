import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { root } from '../bootstrap.mjs';
import { passages, replacePassage } from './passage.mjs';
import { Types } from './types.mjs';

/** A copy of the working tree, including uncommitted changes, in which one mutation at a time can be made. */
export class Copy {
  #folder;

  constructor(parent) {
    this.#folder = mkdtempSync(join(parent, 'copy-'));
    for (const file of filesOfTree()) {
      mkdirSync(dirname(join(this.#folder, file)), { recursive: true });
      copyFileSync(join(root, file), join(this.#folder, file));
    }
    symlinkSync(join(root, 'node_modules'), join(this.#folder, 'node_modules'), 'junction');
  }

  get folder() {
    return this.#folder;
  }

  /** Makes the mutation; returns a function that reverts it. */
  mutate({ file, find, replace }) {
    const path = join(this.#folder, file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, replacePassage(text, find, replace));
    return () => writeFileSync(path, text);
  }
}

/**
 * Tells how many of the broken builds with this part in their name are not caught. Sets the exit code. All of them are
 * made in one copy, one after another.
 */
export async function catchAll(all, part, isCaught) {
  const builds = all.filter(({ name }) => name.includes(part));
  if (builds.length === 0) {
    console.log(`No broken build has a name with "${part}"`);
    process.exitCode = 1;
    return;
  }
  const copy = new Copy(temporaryFolder('broken'));
  const types = new Types(copy.folder, [...new Set(builds.flatMap(filesOf))]);
  let problems = 0;
  for (const build of builds) {
    const reverts = broken(build, copy);
    const errors = types.errorsIn(filesOf(build));
    if (errors !== '') console.log(`DOES NOT COMPILE: ${build.name}\n${errors}`);
    if (reverts.length === 0 || errors !== '' || !(await isCaught(build, copy.folder))) problems += 1;
    for (const revert of reverts) revert();
  }
  console.log(`${builds.length} broken builds, ${problems} not caught`);
  process.exitCode = problems === 0 ? 0 : 1;
}

function filesOf({ edits }) {
  return edits.map(({ file }) => file);
}

/** Makes all edits of a build. Makes none, and says why, if the code of one is not there exactly once. */
function broken({ name, edits }, copy) {
  const stale = edits.filter(({ file, find }) => passages(readFileSync(join(root, file), 'utf8'), find).length !== 1);
  if (stale.length === 0) return edits.map((edit) => copy.mutate(edit)).reverse();
  console.log(`STALE: ${name}: ${stale.map(({ file }) => file).join(', ')}`);
  return [];
}

/** A folder that is deleted when this process ends. */
export function temporaryFolder(name) {
  const folder = mkdtempSync(join(tmpdir(), `${name}-`));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => process.exit(1));
  return folder;
}

function filesOfTree() {
  const git = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (git.status !== 0) throw new Error(`git ls-files failed: ${git.stderr ?? git.error?.message}`);
  // Git still lists a file that was deleted but not committed.
  return git.stdout.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
}
