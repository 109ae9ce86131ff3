import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { WriteRequest } from '../register.ts';

/** One connection to the register, for all jobs of a process. */
export class RegisterClient {
  readonly #socket: Socket;
  readonly #waiting = new Map<string, (accepted: boolean) => void>();

  constructor(port: number) {
    this.#socket = connect(port, '127.0.0.1').setNoDelay();
    createInterface({ input: this.#socket }).on('line', (line) => {
      const { write, accepted } = JSON.parse(line) as { write: string; accepted: boolean };
      this.#waiting.get(write)?.(accepted);
      this.#waiting.delete(write);
    });
  }

  /** Resolves with true if the register accepted the write. */
  write(request: WriteRequest): Promise<boolean> {
    return new Promise((resolve) => {
      this.#waiting.set(request.write, resolve);
      this.#socket.write(`${JSON.stringify(request)}\n`);
    });
  }

  close(): void {
    this.#socket.end();
  }
}
