import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/**
 * Resolves with the output of a command. Rejects with all of its output, including stdout (where compilers print
 * errors), unless it exits with 0 within `limitMs`.
 */
export async function run(command: string, args: readonly string[], folder: string, limitMs = 60_000): Promise<string> {
  const child = spawn(command, args, {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  });
  const exit = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? signal));
  });
  const [code, stdout, stderr] = await Promise.all([exit, text(child.stdout), text(child.stderr)]);
  if (code !== 0) throw new Error(`${[command, ...args].join(' ')} ended with ${code}:\n${stdout}${stderr}`);
  return stdout;
}
