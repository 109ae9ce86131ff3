import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../bootstrap.mjs';
import { replacePassage } from './passage.mjs';

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

function filesOfTree() {
  const git = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
  });
  if (git.status !== 0) throw new Error(`git ls-files failed: ${git.stderr ?? git.error?.message}`);
  // Git still lists a file that was deleted but not committed.
  return git.stdout.split('\0').filter((file) => file !== '' && existsSync(join(root, file)));
}
