import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { testPath } from '../../../lab/test-path.ts';

export interface Application {
  readonly folder: string;
  readonly servers: string;
}

/**
 * Runs a program of `programs.ts`. It must print `line` when its client is closed, print no warnings, and end at once,
 * because nothing may keep it alive after that. It runs again if a busy machine may have held its end up.
 */
export async function prints(
  line: string,
  command: string,
  args: readonly string[],
  application: Application,
): Promise<void> {
  let lingeredMs = Infinity;
  for (let left = tries; left > 0 && lingeredMs >= atOnceMs; left -= 1)
    lingeredMs = Math.min(lingeredMs, await lingers(line, command, args, application));
  expect(lingeredMs).to.be.below(atOnceMs);
}

const tries = 3;
const atOnceMs = 1_000;

/** Resolves with the time from the line to the end of the program. */
async function lingers(
  line: string,
  command: string,
  args: readonly string[],
  { folder, servers }: Application,
): Promise<number> {
  const child = spawn(command, [...args, servers, testPath('consumer')], {
    cwd: folder,
    // Deno keeps its compiled files in this folder.
    env: { ...process.env, DENO_DIR: `${folder}/.deno`, DENO_NO_UPDATE_CHECK: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 40_000,
    killSignal: 'SIGKILL',
  });
  const warnings = text(child.stderr);
  const ended = once(child, 'exit');
  let closedAt = NaN;
  const lines: string[] = [];
  for await (const each of createInterface({ input: child.stdout })) {
    lines.push(each);
    closedAt = performance.now();
  }
  const [code] = (await ended) as [number | null];
  const lingeredMs = performance.now() - closedAt;
  expect({ code, lines, warnings: await warnings }).to.deep.equal({ code: 0, lines: [line], warnings: '' });
  return lingeredMs;
}
