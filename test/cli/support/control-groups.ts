import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';

/** The folder of the control group of this process, as the tests find it. */
const own = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup']
  .map((root) => join(root, groupOfThisProcess()))
  .find((folder) => existsSync(join(folder, 'cgroup.procs')));

/** True if this process may create control groups. */
export const mayHaveScopes = own !== undefined && mayCreateIn(own);

/** The control groups of the commands that run. */
export function controlGroups(): string[] {
  return own === undefined ? [] : readdirSync(own).filter((name) => name.startsWith('zklock-'));
}

function mayCreateIn(folder: string): boolean {
  const probe = join(folder, `probe-${process.pid}`);
  try {
    mkdirSync(probe);
    rmdirSync(probe);
    return true;
  } catch {
    return false;
  }
}

function groupOfThisProcess(): string {
  try {
    return /^0::(.*)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1] ?? '/none';
  } catch {
    return '/none';
  }
}
