import { spawn } from 'node:child_process';
import type { Interrupts } from './interrupts.js';
import { ProcessGroup } from './process-group.js';

/**
 * Runs the command of `--on-lost` by a shell, and resolves when it has ended. Its exit code is not used. It gets the
 * signals that this process gets: otherwise nobody could end a command that hangs.
 */
export function runLostCommand(
  command: string,
  env: Readonly<Record<string, string>>,
  interrupts: Interrupts,
): Promise<void> {
  const child = spawn('/bin/sh', ['-c', command], {
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ...env },
  });
  const group = child.pid === undefined ? undefined : new ProcessGroup(child.pid);
  interrupts.passTo((signal) => group?.signal(signal));
  return new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).finally(() => interrupts.passTo(() => undefined));
}
