import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface CommandOptions {
  readonly limitMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a command silently. Rejects with what it said where it fails, or takes too long; nothing it started outlives that. */
export async function command(name: string, args: readonly string[], { limitMs, env = {} }: CommandOptions): Promise<void> {
  // As the leader of a process group, so that the limit reaches what it started, too.
  const child = spawn(name, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, ...env }, detached: true });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
  const killGroup = () => killGroupOf(child.pid);
  const timer = setTimeout(killGroup, limitMs);
  const interrupts = ['SIGINT', 'SIGTERM'] as const;
  for (const signal of interrupts) process.on(signal, killGroup);
  process.on('exit', killGroup);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
    if (code !== 0) throw new Error(`${[name, ...args].join(' ')} ended by ${signal ?? `exit code ${code ?? '?'}`} (limit ${limitMs} ms):\n${said.slice(-4_000)}`);
  } finally {
    clearTimeout(timer);
    for (const signal of interrupts) process.off(signal, killGroup);
    process.off('exit', killGroup);
  }
}

function killGroupOf(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has just ended
  }
}
