import { spawn } from 'node:child_process';
import type { Interrupts } from './interrupts.js';
import { CommandSession } from './command-session.js';
import { inheritedFiles, withoutFiles } from './inherited-files.js';

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
    stdio: withoutFiles(['ignore', 'inherit', 'inherit'], inheritedFiles()),
    env: { ...process.env, ...env },
  });
  const session = child.pid === undefined ? undefined : new CommandSession(child.pid);
  interrupts.passTo((signal) => session?.signal(signal));
  return new Promise<void>((resolve) => {
    child.once('error', () => resolve());
    child.once('exit', () => resolve());
  }).finally(() => interrupts.passTo(() => undefined));
}
