import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs a command in this terminal, and resolves with its exit code: 128 plus the signal's number if a signal ended it.
 */
export async function run(command, args, options = {}) {
  const { code } = await outcomeOf(command, args, { stdio: 'inherit', ...options });
  return code;
}

/**
 * Runs a command, and resolves with its exit code, as `run` does, and with all that it printed.
 *
 * @param options those of `spawn`; `onStart`, which is called with the child and with what tells its output so far; and
 *   `endWith`, the signal that the child gets if this process gets SIGTERM
 */
export function outcomeOf(command, args, { onStart, endWith = 'SIGTERM', ...options } = {}) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => (output += text));
  onStart?.(child, () => output);
  const forward = () => child.kill(endWith);
  // The terminal also sends Ctrl-C to the child. The child decides when to end, and this process ends after it.
  const wait = () => {};
  process.on('SIGTERM', forward);
  process.on('SIGINT', wait);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code: signal === null ? code : 128 + constants.signals[signal], output }),
    );
  }).finally(() => {
    process.off('SIGTERM', forward);
    process.off('SIGINT', wait);
  });
}

/** Ends a process group with all of its children. */
export function killGroup(group) {
  try {
    process.kill(-group, 'SIGKILL');
  } catch {
    // the process has just ended
  }
}
