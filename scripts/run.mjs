import { spawn } from 'node:child_process';
import { constants } from 'node:os';

/**
 * Runs a command in this terminal, and resolves with its exit code: 128 plus the signal's number if a signal ended it.
 */
export function run(command, args, options = {}) {
  const child = spawn(command, args, { stdio: 'inherit', ...options });
  const forward = (signal) => child.kill(signal);
  // The terminal also sends Ctrl-C to the child. The child decides when to end, and this process ends after it.
  const wait = () => {};
  process.on('SIGTERM', forward);
  process.on('SIGINT', wait);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      process.off('SIGTERM', forward);
      process.off('SIGINT', wait);
      resolve(signal === null ? code : 128 + constants.signals[signal]);
    });
  });
}
