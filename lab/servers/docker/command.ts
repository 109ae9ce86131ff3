import { execFile, type ExecFileException } from 'node:child_process';

export interface CommandOptions {
  readonly limitMs: number;
  readonly env?: Readonly<Record<string, string>>;
}

const lastOf = 4_000;

/**
 * Runs a command silently. If the command fails or takes too long, it is killed, and the promise rejects with the end
 * of its output.
 */
export function command(name: string, args: readonly string[], { limitMs, env = {} }: CommandOptions): Promise<void> {
  const options = {
    env: { ...process.env, ...env },
    timeout: limitMs,
    killSignal: 'SIGKILL',
    maxBuffer: Infinity,
  } as const;
  return new Promise((resolve, reject) => {
    const child = execFile(name, args, options, (error, stdout, stderr) => {
      if (error === null) resolve();
      else
        reject(
          new Error(
            `${[name, ...args].join(' ')}: ${howItFailed(error, limitMs)}\n${`${stdout}${stderr}`.trim().slice(-lastOf)}`,
          ),
        );
    });
    child.stdin?.end();
  });
}

function howItFailed({ code, killed, signal, message }: ExecFileException, limitMs: number): string {
  if (killed === true) return `it did not end within ${limitMs} ms`;
  if (typeof code === 'number') return `exit code ${code}`;
  return signal ?? message;
}
