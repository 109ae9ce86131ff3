import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** Runs a command after this process has ended, by any signal. Returns a function that cancels the command. */
export function afterThisProcess(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): () => void {
  // The kernel closes the other end of the pipe when this process ends. The watcher has its own process group, so that
  // Ctrl-C does not reach it.
  const watcher = spawn('sh', ['-c', 'cat; exec "$@"', 'sh', name, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: { ...process.env, ...env },
    detached: true,
  });
  watcher.once('error', () => undefined);
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();
  return () => {
    if (watcher.pid !== undefined && watcher.exitCode === null) process.kill(-watcher.pid, 'SIGKILL');
  };
}
