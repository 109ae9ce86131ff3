import { spawn } from 'node:child_process';
import { Socket } from 'node:net';

/** Runs a command once this process has ended, by whatever signal. Returns what calls it off. */
export function afterThisProcess(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): () => void {
  // The other end of its pipe is closed by the kernel. In a group of its own, Ctrl-C does not reach it.
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
