import { errorNumbers } from '../../../../src/testing/refusal.ts';
import { Manager } from './manager.ts';
import { encode, type Request } from './request.ts';
import { presentPaths, rootPath, type Step } from './sequences.ts';
import { describeFrame, type Scale } from './transcript.ts';
import { readConnectResponse, WireConnection, type Ticket } from './wire-connection.ts';

/** Longer than a run, so that no session expires by itself. */
const sessionTimeoutMs = 40_000;

/** Runs the steps on one server, and returns one line for each frame that the server sends. */
export async function runSequence(port: number, sequence: readonly Step[]): Promise<string[]> {
  const run = await SequenceRun.open(port);
  try {
    for (const step of sequence) await run.take(step);
    return await run.close();
  } finally {
    await run.clear();
  }
}

interface Client {
  connection: WireConnection;
  ticket: Ticket;
  readonly requests: Map<number, Request>;
  xid: number;
  read: number;
  /** The number of pings that were sent on this connection. */
  pings: number;
}

class SequenceRun {
  readonly #port: number;
  readonly #manager: Manager;
  readonly #clients = new Map<number, Client>();
  readonly #sessions = new Map<bigint, string>();
  readonly #lines: string[] = [];
  readonly #scale: Scale;

  static async open(port: number): Promise<SequenceRun> {
    const startedAt = Date.now();
    const manager = await Manager.connect(port);
    await manager.clear();
    const { zxid, childVersion } = await manager.rootStat();
    for (const path of [rootPath, ...presentPaths]) await manager.create(path);
    return new SequenceRun(port, manager, { zxid, rootVersion: childVersion, startedAt });
  }

  private constructor(port: number, manager: Manager, scale: Omit<Scale, 'sessions'>) {
    this.#port = port;
    this.#manager = manager;
    this.#scale = { ...scale, sessions: this.#sessions };
  }

  async take(step: Step): Promise<void> {
    const client = await this.#client(step.session);
    // Wait until events that are under way have arrived, before the connection ends.
    if (step.does !== 'requests') await this.#settle(client);
    switch (step.does) {
      case 'requests':
        await this.#ask(client, step.requests);
        break;
      case 'break':
        client.connection.write(Buffer.from(step.with, 'hex'));
        await client.connection.until(() => false);
        break;
      case 'reconnect':
        await this.#reconnect(client, step.session, step.as);
    }
    this.#note(step.session);
  }

  /** Returns the rest of each session's frames, and ends the sessions. */
  async close(): Promise<string[]> {
    for (const [name, client] of [...this.#clients].sort(([a], [b]) => a - b)) {
      await this.#client(name);
      await this.#ask(this.#clients.get(name) ?? client, [{ op: 'ping' }]);
      this.#note(name);
    }
    for (const name of [...this.#clients.keys()].sort()) {
      const client = await this.#client(name);
      await this.#ask(client, [{ op: 'closeSession' }]);
      await client.connection.until(() => false);
      this.#note(name);
    }
    return this.#lines;
  }

  async clear(): Promise<void> {
    for (const { connection } of this.#clients.values()) await connection.close();
    await this.#manager.clear();
    await this.#manager.close();
  }

  /** The session: connected again if its connection was closed, and opened anew if it is over. */
  async #client(name: number): Promise<Client> {
    const client = this.#clients.get(name);
    if (client && !client.connection.isClosed) return client;
    return client ? this.#reopen(name, client) : this.#openNew(name);
  }

  async #reopen(name: number, client: Client): Promise<Client> {
    this.#note(name);
    const response = await this.#dial(client, client.ticket);
    if (response !== undefined) return client;
    return this.#openNew(name);
  }

  async #openNew(name: number): Promise<Client> {
    const connection = new WireConnection(this.#port);
    const response = await connection.handshake(sessionTimeoutMs);
    if (!response) throw new Error('No new session');
    const { ticket, timeoutMs, rest } = readConnectResponse(response);
    this.#sessions.set(ticket.sessionId, `s${this.#sessions.size}`);
    this.#lines.push(`${name}: new session ${timeoutMs} ${rest}`);
    const client: Client = { connection, ticket, requests: new Map(), xid: 0, read: 0, pings: 0 };
    this.#clients.set(name, client);
    return client;
  }

  /** Undefined if the server refuses. */
  async #dial(client: Client, ticket: Ticket, lastZxid = 0n): Promise<Buffer | undefined> {
    const before = client.connection;
    const connection = new WireConnection(this.#port);
    const response = await connection.handshake(sessionTimeoutMs, ticket, lastZxid);
    const read = response && readConnectResponse(response);
    this.#lines.push(
      read
        ? `resumed ${read.timeoutMs} ${this.#sessions.get(read.ticket.sessionId) ?? read.ticket.sessionId} ${read.rest}`
        : 'refused without a reply',
    );
    if (!read || read.ticket.sessionId === 0n) {
      await connection.until(() => false);
      return undefined;
    }
    await before.until(() => before.isClosed);
    Object.assign(client, { connection, read: 0, pings: 0 });
    return response;
  }

  async #reconnect(client: Client, name: number, as: 'owner' | 'thief' | 'unknown' | 'newer'): Promise<void> {
    const { ticket, connection } = client;
    this.#note(name);
    if (as === 'owner') await this.#dial(client, ticket);
    else if (as === 'unknown') await this.#dial(client, { sessionId: 12_345n, password: ticket.password });
    else if (as === 'newer') await this.#dial(client, ticket, 2n ** 60n);
    else {
      await this.#dial(client, { sessionId: ticket.sessionId, password: Buffer.alloc(16, 7) });
      // The wrong password has closed the owner's connection.
      await connection.until(() => connection.isClosed);
    }
  }

  async #ask(client: Client, requests: readonly Request[]): Promise<void> {
    const { connection } = client;
    const frames = requests.map((request) => {
      client.xid += 1;
      client.requests.set(client.xid, request);
      if (isPing(request)) client.pings += 1;
      return encode(client.xid, request, this.#scale.zxid);
    });
    connection.write(Buffer.concat(frames));
    const [only] = requests;
    if (only && mayClose.includes(only.op)) await this.#answeredOrClosed(client);
    else await this.#settle(client);
  }

  /**
   * The server has a race after such a request: it answers a ping that follows before it closes the connection, or not
   * at all.
   */
  async #answeredOrClosed({ connection, xid, requests }: Client): Promise<void> {
    await connection.until(() => connection.hasAnswer(xid));
    const answer = connection.frames.find((frame) => frame.readInt32BE(0) === xid);
    const error = answer?.readInt32BE(12);
    if (
      requests.get(xid)?.op === 'closeSession' ||
      error === errorNumbers.UNIMPLEMENTED ||
      error === errorNumbers.AUTH_FAILED
    )
      await connection.until(() => false);
  }

  /**
   * Waits until the server has handled all requests: it answers pings in order, whatever the results of the earlier
   * requests were.
   */
  async #settle(client: Client): Promise<void> {
    const { connection } = client;
    client.pings += 1;
    connection.write(encode(0, { op: 'ping' }, 0));
    await connection.until(
      () => connection.frames.filter((frame) => frame.readInt32BE(0) === -2).length >= client.pings,
    );
  }

  #note(name: number): void {
    const client = this.#clients.get(name);
    if (!client) return;
    const { connection, requests } = client;
    for (const frame of connection.frames.slice(client.read))
      this.#lines.push(`${name}: ${lineOf(frame, requests, this.#scale)}`);
    client.read = connection.frames.length;
    if (connection.isClosed) this.#lines.push(`${name}: closed`);
  }
}

const mayClose: readonly string[] = ['raw', 'auth', 'closeSession'];

function isPing(request: Request): boolean {
  return request.op === 'bent' ? isPing(request.request) : request.op === 'ping';
}

function lineOf(frame: Buffer, requests: ReadonlyMap<number, Request>, scale: Scale): string {
  try {
    return describeFrame(frame, requests, scale);
  } catch (error) {
    return `unreadable ${frame.toString('hex')} ${String(error)}`;
  }
}
