import { PassThrough } from 'node:stream';
import { main } from '../../../packages/zklock/src/cli/main.ts';
import type { Io } from '../../../packages/zklock/src/cli/io.ts';

/** `zklock` in this process, with streams of its own. */
export class InProcess {
  readonly stdin = Object.assign(new PassThrough(), { isTTY: false, setRawMode: () => undefined });
  readonly #stdout: PassThrough & { columns?: number; rows?: number };
  readonly #stderr = new PassThrough();
  readonly #signals = new Map<NodeJS.Signals, (signal: NodeJS.Signals) => void>();
  readonly #heard = new Set<() => void>();
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  out = '';
  errors = '';

  /** @param terminal the size of the terminal; none by default */
  constructor(connectString: string, words: readonly string[], terminal?: { columns: number; rows: number }) {
    this.#stdout = Object.assign(new PassThrough(), terminal ?? {});
    this.stdin.isTTY = terminal !== undefined;
    this.#stdout.setEncoding('utf8').on('data', (text: string) => {
      this.out += text;
      for (const heard of this.#heard) heard();
    });
    this.#stderr.setEncoding('utf8').on('data', (text: string) => {
      this.errors += text;
      for (const heard of this.#heard) heard();
    });
    const io: Io = {
      stdin: this.stdin,
      stdout: this.#stdout,
      stderr: this.#stderr,
      env: { ZOOKEEPER_CONNECT: connectString },
      isTerminal: terminal !== undefined,
      version: () => '0.0.0',
      onSignal: (signal, listener) => {
        this.#signals.set(signal, listener);
        return () => this.#signals.delete(signal);
      },
    };
    this.ended = main(words, io);
  }

  get json(): unknown {
    return JSON.parse(this.out) as unknown;
  }

  /** The screen after the last repaint. */
  get screen(): string {
    // oxlint-disable-next-line no-control-regex -- these are the sequences that place text
    return (this.out.split('\u001b[H').at(-1) ?? '').replace(/\u001b\[[?\d]*[A-Za-z]/g, '');
  }

  press(keys: string): void {
    this.stdin.write(keys);
  }

  resize(columns: number, rows: number): void {
    Object.assign(this.#stdout, { columns, rows });
    this.#stdout.emit('resize');
  }

  /** As if the reader of a pipe had left. */
  stopReading(): void {
    this.#stdout.destroy();
  }

  signal(name: NodeJS.Signals): void {
    this.#signals.get(name)?.(name);
  }

  /** Resolves as soon as `look` returns true after something was printed. */
  async until(look: () => boolean): Promise<void> {
    while (!look()) {
      await new Promise<void>((resolve, reject) => {
        const heard = (): void => {
          this.#heard.delete(heard);
          resolve();
        };
        this.#heard.add(heard);
        void this.ended.then((code) => reject(new Error(`zklock ended with ${code}:\n${this.out}\n${this.errors}`)));
      });
    }
  }
}
