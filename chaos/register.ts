import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { listen, onFreshPorts } from '../lab/servers/free-port.ts';
import { now, type HistoryEvent } from '../lab/judge/history.ts';

export interface WriteRequest {
  readonly path: string;
  readonly write: string;
  /** Absent for a request that only reads. */
  readonly token?: string;
  /** The register handles the request only after this delay, as if the message had been under way for long. */
  readonly delayMs: number;
}

export interface RegisterAnswer {
  readonly write: string;
  readonly accepted: boolean;
  /** The write that was accepted last: an empty text if there is none. */
  readonly value: string;
}

/**
 * The resource that the locks protect: one register per path, which refuses a token smaller than the largest it has
 * received.
 */
export class Register implements AsyncDisposable {
  readonly #largest = new Map<string, bigint>();
  readonly #values = new Map<string, string>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  readonly #record: (event: HistoryEvent) => void;
  port = 0;

  static async start(record: (event: HistoryEvent) => void): Promise<Register> {
    const register = new Register(record);
    register.port = await onFreshPorts(1, ([port = 0]) => listen(register.#server, port));
    return register;
  }

  private constructor(record: (event: HistoryEvent) => void) {
    this.#record = record;
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => void this.#sockets.delete(socket));
      createInterface({ input: socket }).on('line', (line) => {
        const request = JSON.parse(line) as WriteRequest;
        const answer = (): void => void socket.write(`${JSON.stringify(this.#answer(request))}\n`);
        if (request.delayMs === 0) answer();
        else setTimeout(answer, request.delayMs);
      });
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #answer({ path, write, token }: WriteRequest): RegisterAnswer {
    const accepted = token === undefined || this.#judge(path, write, token);
    return { write, accepted, value: this.#values.get(path) ?? '' };
  }

  #judge(path: string, write: string, token: string): boolean {
    const seen = this.#largest.get(path) ?? 0n;
    const accepted = BigInt(token) >= seen;
    if (accepted) {
      this.#largest.set(path, BigInt(token));
      this.#values.set(path, write);
    }
    this.#record({
      t: now(),
      type: 'register',
      path,
      write,
      token,
      accepted,
      largest: String(accepted ? token : seen),
    });
    return accepted;
  }
}
