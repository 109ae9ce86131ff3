import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { RegisterAnswer, WriteRequest } from '../register.ts';

/** One connection to the register, for all jobs of a process. */
export class RegisterClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<string, (answer: RegisterAnswer) => void>();
  #reads = 0;

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay();
    createInterface({ input: this.#socket }).on('line', (line) => {
      const answer = JSON.parse(line) as RegisterAnswer;
      this.#waiting.get(answer.write)?.(answer);
      this.#waiting.delete(answer.write);
    });
  }

  /** Resolves with true if the register accepted the write. */
  async write(request: WriteRequest): Promise<boolean> {
    return (await this.#ask(request)).accepted;
  }

  /** Resolves with the write that the register of the path accepted last: an empty text if there is none. */
  async read(path: string): Promise<string> {
    return (await this.#ask({ path, write: `read ${(this.#reads += 1)}`, delayMs: 0 })).value;
  }

  close(): void {
    this.#socket.end();
  }

  #ask(request: WriteRequest): Promise<RegisterAnswer> {
    return new Promise((resolve) => {
      this.#waiting.set(request.write, resolve);
      this.#socket.write(`${JSON.stringify(request)}\n`);
    });
  }
}
