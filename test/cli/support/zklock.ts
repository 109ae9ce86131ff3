import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CommandSession } from '../../../packages/zklock/src/cli/run/command-session.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';

const built: readonly string[] = [fileURLToPath(new URL('../../../packages/zklock/bin/zklock.cjs', import.meta.url))];
const bundle = fileURLToPath(new URL('../../../packages/zklock/dist/zklock.cjs', import.meta.url));

/** `zklock` as its sources are, for a suite that builds nothing. */
export const fromSource: readonly string[] = [
  '--import=tsx',
  fileURLToPath(new URL('zklock-from-source.ts', import.meta.url)),
];

const limitMs = 60_000;

export interface ZklockOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** The text on its standard input. @default nothing */
  readonly stdin?: string;
  /** The arguments of Node. @default the built command */
  readonly program?: readonly string[];
}

/** A line of `--json`. */
export type Told = { readonly event: string } & Readonly<Record<string, unknown>>;

/** `zklock` in a process of its own, as a shell would start it. */
export class Zklock implements AsyncDisposable {
  readonly #process: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #forget: () => void;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], { env = {}, stdin, program = built }: ZklockOptions = {}) {
    if (program === built && !existsSync(bundle))
      throw new Error('The package is not built: start these tests with `npm run suite -- cli`');
    this.#process = spawn(process.execPath, [...program, ...args], {
      env: { ...process.env, ...env },
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      timeout: limitMs,
      killSignal: 'SIGKILL',
    });
    this.#forget = whenProcessEnds(() => this.#kill());
    this.#process.stdin?.end(stdin);
    for (const name of ['stdout', 'stderr'] as const)
      this.#process[name]?.setEncoding('utf8').on('data', (text: string) => {
        this[name] += text;
        this.#process.emit('said');
      });
    this.#closed = once(this.#process, 'close').then(() => this.#process.emit('said'));
  }

  get pid(): number {
    if (this.#process.pid === undefined) throw new Error('zklock was not started');
    return this.#process.pid;
  }

  /** The events of `--json` so far. */
  get events(): Told[] {
    const lines = this.stderr.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line) as Told);
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name);
  }

  /** Resolves with the event as soon as `--json` has told it. */
  async tells(event: string): Promise<Told> {
    for (;;) {
      const told = this.events.find((each) => each.event === event);
      if (told) return told;
      await this.#more(`the event ${event}`);
    }
  }

  /** Resolves as soon as the command has printed this text. */
  async prints(text: string): Promise<void> {
    while (!this.stdout.includes(text)) await this.#more(JSON.stringify(text));
  }

  /** The session of the command. Needs `--json`. */
  async session(): Promise<CommandSession> {
    return new CommandSession((await this.tells('started'))['session'] as number);
  }

  /** Resolves with the exit code: 128 + n if a signal ended `zklock` itself. */
  async ends(): Promise<number> {
    await this.#closed;
    if (this.#process.exitCode !== null) return this.#process.exitCode;
    throw new Error(`zklock was ended by ${this.#process.signalCode ?? 'nothing'}:\n${this.stderr}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#kill();
    await this.#closed;
    this.#forget();
  }

  #kill(): void {
    if (this.#hasEnded) return;
    this.#process.kill('SIGKILL');
    const started = this.events.find(({ event }) => event === 'started');
    if (started) new CommandSession(started['session'] as number).signal('SIGKILL');
  }

  async #more(what: string): Promise<void> {
    if (this.#hasEnded) throw new Error(`zklock ended without ${what}:\n${this.stdout}\n${this.stderr}`);
    await once(this.#process, 'said');
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }
}
