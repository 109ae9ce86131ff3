import { tmpdir } from 'node:os';
import { join } from 'node:path';

const lock = join(tmpdir(), 'zookeeper-fair-lock-apt-get.lock');

/**
 * The arguments of two calls of `flock` that install packages. An update of apt-get fails while another one runs, so
 * that two test runs side by side take turns.
 */
export function flockAptGet(packages: readonly string[]): string[][] {
  // Without --close, a service that an installation starts would inherit the lock, and keep it.
  const inTurn = ['--close', '--timeout', '300', lock, 'apt-get'];
  return [
    [...inTurn, 'update', '-qq'],
    [...inTurn, 'install', '-y', '-qq', '-o', 'DPkg::Lock::Timeout=300', ...packages],
  ];
}
