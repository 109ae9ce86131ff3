import { machineClock } from '../../../../packages/testing/src/server/test-clock.ts';
import type { Answer, ConnectResponse, Ticket } from '../../../../lab/wire/answer.ts';
import { errors, xids } from '../../../../lab/wire/opcodes.ts';
import { encode, type Request } from '../../../../lab/wire/request.ts';
import { WireClient, type Transport } from '../../../../lab/wire/wire-client.ts';
import { Manager } from './manager.ts';
import { presentPaths, rootPath, type Step } from './sequences.ts';
import { describeAnswer, type Scale } from './transcript.ts';

/** Longer than a run, so that no session expires by itself. */
const sessionTimeoutMs = 40_000;

/** Runs the steps on one server, and returns one line for each frame that the server sends. */
export async function runSequence(server: Transport, sequence: readonly Step[]): Promise<string[]> {
  const run = await SequenceRun.open(server);
  try {
    for (const step of sequence) await run.take(step);
    return await run.close();
  } finally {
    await run.clear();
  }
}

interface Client {
  connection: WireClient;
  ticket: Ticket;
  readonly requests: Map<number, Request>;
  xid: number;
  read: number;
  /** The number of pings that were sent on this connection. */
  pings: number;
}

class SequenceRun {
  readonly #server: Transport;
  readonly #manager: Manager;
  readonly #clients = new Map<number, Client>();
  readonly #sessions = new Map<bigint, string>();
  readonly #lines: string[] = [];
  readonly #scale: Scale;

  static async open(server: Transport): Promise<SequenceRun> {
    const startedAt = Math.min(Date.now(), machineClock.now());
    const manager = await Manager.connect(server);
    await manager.clear();
    const { zxid, childVersion } = await manager.rootStat();
    for (const path of [rootPath, ...presentPaths]) await manager.create(path);
    return new SequenceRun(server, manager, { zxid, rootVersion: childVersion, startedAt });
  }

  private constructor(server: Transport, manager: Manager, scale: Omit<Scale, 'sessions'>) {
    this.#server = server;
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
        await client.connection.closed;
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
      await client.connection.closed;
      this.#note(name);
    }
    return this.#lines;
  }

  async clear(): Promise<void> {
    for (const { connection } of this.#clients.values()) {
      connection[Symbol.dispose]();
      await connection.closed;
    }
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
    return (await this.#dial(client, client.ticket)) ? client : this.#openNew(name);
  }

  async #openNew(name: number): Promise<Client> {
    const connection = await new WireClient(this.#server).connect(sessionTimeoutMs).opened();
    if (!connection.response) throw new Error('No new session');
    const { ticket, timeoutMs } = connection;
    this.#sessions.set(ticket.sessionId, `s${this.#sessions.size}`);
    this.#lines.push(`${name}: new session ${timeoutMs} ${restOf(connection.response)}`);
    const client: Client = { connection, ticket, requests: new Map(), xid: 0, read: 0, pings: 0 };
    this.#clients.set(name, client);
    return client;
  }

  /** False if the server refuses. */
  async #dial(client: Client, ticket: Ticket, lastZxid = 0): Promise<boolean> {
    const before = client.connection;
    const connection = await new WireClient(this.#server).connect(sessionTimeoutMs, ticket, lastZxid).opened();
    const { response } = connection;
    this.#lines.push(
      response
        ? `resumed ${response.timeoutMs} ${this.#nameOf(response.ticket)} ${restOf(response)}`
        : 'refused without a reply',
    );
    if (!response || connection.isRefused) {
      await connection.closed;
      return false;
    }
    await before.closed;
    Object.assign(client, { connection, read: 0, pings: 0 });
    return true;
  }

  #nameOf({ sessionId }: Ticket): string {
    return this.#sessions.get(sessionId) ?? String(sessionId);
  }

  async #reconnect(client: Client, name: number, as: 'owner' | 'thief' | 'unknown' | 'newer'): Promise<void> {
    const { ticket, connection } = client;
    this.#note(name);
    if (as === 'owner') await this.#dial(client, ticket);
    else if (as === 'unknown') await this.#dial(client, { sessionId: 12_345n, password: ticket.password });
    else if (as === 'newer') await this.#dial(client, ticket, 2 ** 60);
    else {
      await this.#dial(client, { sessionId: ticket.sessionId, password: Buffer.alloc(16, 7) });
      // The wrong password has closed the owner's connection.
      await connection.closed;
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
    const find = (): Answer | undefined => connection.answers.find((answer) => answer.xid === xid);
    await connection.until(() => find() !== undefined);
    const answer = find();
    const isLast = answer?.error === errors.UNIMPLEMENTED || answer?.error === errors.AUTH_FAILED;
    if (isLast || requests.get(xid)?.op === 'closeSession') await connection.closed;
  }

  /**
   * Waits until the server has handled all requests: it answers pings in order, whatever the results of the earlier
   * requests were.
   */
  async #settle(client: Client): Promise<void> {
    const { connection } = client;
    client.pings += 1;
    connection.send({ op: 'ping' });
    await connection.until(() => connection.answers.filter(({ xid }) => xid === xids.ping).length >= client.pings);
  }

  #note(name: number): void {
    const client = this.#clients.get(name);
    if (!client) return;
    const { connection, requests } = client;
    for (const answer of connection.answers.slice(client.read))
      this.#lines.push(`${name}: ${lineOf(answer, requests, this.#scale)}`);
    client.read = connection.answers.length;
    if (connection.isClosed) this.#lines.push(`${name}: closed`);
  }
}

const mayClose: readonly string[] = ['raw', 'auth', 'closeSession'];

function isPing(request: Request): boolean {
  return request.op === 'bent' ? isPing(request.request) : request.op === 'ping';
}

function restOf({ protocol, ticket, readOnly }: ConnectResponse): string {
  return `${protocol} ${ticket.password.length} ${readOnly ?? 'old'}`;
}

function lineOf(answer: Answer, requests: ReadonlyMap<number, Request>, scale: Scale): string {
  try {
    return describeAnswer(answer, requests, scale);
  } catch (error) {
    return `unreadable ${answer.bytes.toString('hex')} ${String(error)}`;
  }
}
