import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const skewedClock = new URL('skewed-clock.mjs', import.meta.url).href;
const limitMs = 120_000;

export const exampleFiles = readdirSync(`${root}examples`).filter(
  (file) => file.endsWith('.ts') && !file.endsWith('.d.ts'),
);

/**
 * A program of `examples/` in a process of its own, as a user would start it. It imports the package by its name, and
 * so the built files.
 */
export class Example implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  #output = '';

  /** @param skewMs how far the program's clock is ahead of the machine's */
  constructor(file: string, connectString: string, args: readonly string[] = [], skewMs = 0) {
    if (!existsSync(`${root}dist/zookeeper-fair-lock.js`))
      throw new Error('The package is not built: start these tests with `npm run suite -- examples`');
    this.#child = spawn(process.execPath, ['--import=tsx', `--import=${skewedClock}`, `examples/${file}`, ...args], {
      cwd: root,
      env: { ...process.env, ZOOKEEPER_CONNECT: connectString, CLOCK_SKEW_MS: String(skewMs) },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        this.#child.emit('said');
      });
    }
    this.#closed = once(this.#child, 'close').then(() => this.#child.emit('said'));
  }

  /** The output so far, including errors. */
  get output(): string {
    return this.#output;
  }

  signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(name);
  }

  /** Resolves as soon as the program has printed `text`. Rejects if it ends before. */
  async says(text: string): Promise<void> {
    while (!this.#output.includes(text)) {
      if (this.#hasEnded) throw new Error(`The program ended without printing "${text}":\n${this.#output}`);
      await once(this.#child, 'said');
    }
  }

  /** Resolves with the output when the program has ended by itself, without an error. */
  async ends(): Promise<string> {
    await this.#closed;
    if (this.#child.exitCode === 0) return this.#output;
    throw new Error(`The program ended with ${this.#child.exitCode ?? this.#child.signalCode}:\n${this.#output}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) this.#child.kill('SIGKILL');
    await this.#closed;
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}
