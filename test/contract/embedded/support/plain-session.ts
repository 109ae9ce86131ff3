import type { Answer, Ticket } from '../../../../lab/wire/answer.ts';
import { xids } from '../../../../lab/wire/opcodes.ts';
import { overTcp, WireClient } from '../../../../lab/wire/wire-client.ts';

/**
 * A session that only does what the test calls: it sends no pings, sets no watches and does not reconnect by itself.
 */
export class PlainSession extends WireClient {
  readonly #port: number;
  #events = 0;

  static open(port: number, timeoutMs: number, ticket?: Ticket): Promise<PlainSession> {
    return new PlainSession(port).connect(timeoutMs, ticket).opened();
  }

  /** Connects, without a session yet. */
  constructor(port: number) {
    super(overTcp(port));
    this.#port = port;
  }

  /** One line for each answer and each event, in the order of their arrival. */
  get transcript(): string[] {
    return this.answers.map(({ xid, error, event }) =>
      event ? `event ${event.type} ${event.state} ${event.path ?? ''}` : `#${xid} ${error}`,
    );
  }

  /** Ends the connection, but not the session. */
  async disconnect(): Promise<void> {
    this[Symbol.dispose]();
    await this.closed;
  }

  /** Resolves when the server has accepted the connection. The server does that before it answers on a later one. */
  async accepted(): Promise<void> {
    await (await PlainSession.open(this.#port, 1_000)).request({ op: 'closeSession' });
  }

  create(path: string, flags: number): Promise<Answer> {
    return this.request({ op: 'create2', path, flags });
  }

  async childrenOfRoot(): Promise<readonly (string | null)[]> {
    return (await this.request({ op: 'getChildren', path: '/' })).record().texts() ?? [];
  }

  async nextEvent(): Promise<{ type: number | undefined; path: string | null | undefined }> {
    const { event } = await this.answerTo(xids.event, this.#events++);
    return { type: event?.type, path: event?.path };
  }
}
