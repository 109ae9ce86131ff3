import { errorNumbers } from '../../../src/testing/refusal.ts';
import { Manager } from './manager.ts';
import { encode, type Request } from './request.ts';
import { presentPaths, rootPath, type Step } from './sequences.ts';
import { describeFrame, type Scale } from './transcript.ts';
import { readConnectResponse, WireConnection, type Ticket } from './wire-connection.ts';

/** Longer than a run: no session expires by itself. */
const sessionTimeoutMs = 40_000;

/** Performs the steps on one server, and returns one line for each frame that it sends. */
export async function perform(port: number, sequence: readonly Step[]): Promise<string[]> {
  const stage = await Stage.open(port);
  try {
    for (const step of sequence) await stage.take(step);
    return await stage.close();
  } finally {
    await stage.clear();
  }
}

interface Player {
  connection: WireConnection;
  ticket: Ticket;
  readonly requests: Map<number, Request>;
  xid: number;
  read: number;
  /** The number of pings that were sent on this connection. */
  pings: number;
}

class Stage {
  readonly #port: number;
  readonly #manager: Manager;
  readonly #players = new Map<number, Player>();
  readonly #sessions = new Map<bigint, string>();
  readonly #lines: string[] = [];
  readonly #scale: Scale;

  static async open(port: number): Promise<Stage> {
    const startedAt = Date.now();
    const manager = await Manager.connect(port);
    await manager.clear();
    const { zxid, childVersion } = await manager.rootStat();
    for (const path of [rootPath, ...presentPaths]) await manager.create(path);
    return new Stage(port, manager, { zxid, rootVersion: childVersion, startedAt });
  }

  private constructor(port: number, manager: Manager, scale: Omit<Scale, 'sessions'>) {
    this.#port = port;
    this.#manager = manager;
    this.#scale = { ...scale, sessions: this.#sessions };
  }

  async take(step: Step): Promise<void> {
    const player = await this.#player(step.session);
    // Events that are on their way arrive before the connection ends.
    if (step.does !== 'requests') await this.#settle(player);
    switch (step.does) {
      case 'requests':
        await this.#ask(player, step.requests);
        break;
      case 'break':
        player.connection.write(Buffer.from(step.with, 'hex'));
        await player.connection.until(() => false);
        break;
      case 'reconnect':
        await this.#reconnect(player, step.session, step.as);
    }
    this.#note(step.session);
  }

  /** The rest of each session's stream, and its end. */
  async close(): Promise<string[]> {
    for (const [name, player] of [...this.#players].sort(([a], [b]) => a - b)) {
      await this.#player(name);
      await this.#ask(this.#players.get(name) ?? player, [{ op: 'ping' }]);
      this.#note(name);
    }
    for (const name of [...this.#players.keys()].sort()) {
      const player = await this.#player(name);
      await this.#ask(player, [{ op: 'closeSession' }]);
      await player.connection.until(() => false);
      this.#note(name);
    }
    return this.#lines;
  }

  async clear(): Promise<void> {
    for (const { connection } of this.#players.values()) await connection.close();
    await this.#manager.clear();
    await this.#manager.close();
  }

  /** The session, connected again where its connection was closed, and opened anew where it is over. */
  async #player(name: number): Promise<Player> {
    const player = this.#players.get(name);
    if (player && !player.connection.isClosed) return player;
    return player ? this.#reopen(name, player) : this.#openNew(name);
  }

  async #reopen(name: number, player: Player): Promise<Player> {
    this.#note(name);
    const response = await this.#dial(player, player.ticket);
    if (response !== undefined) return player;
    return this.#openNew(name);
  }

  async #openNew(name: number): Promise<Player> {
    const connection = new WireConnection(this.#port);
    const response = await connection.handshake(sessionTimeoutMs);
    if (!response) throw new Error('No new session');
    const { ticket, timeoutMs, rest } = readConnectResponse(response);
    this.#sessions.set(ticket.sessionId, `s${this.#sessions.size}`);
    this.#lines.push(`${name}: new session ${timeoutMs} ${rest}`);
    const player: Player = { connection, ticket, requests: new Map(), xid: 0, read: 0, pings: 0 };
    this.#players.set(name, player);
    return player;
  }

  /** Undefined where the server refuses. */
  async #dial(player: Player, ticket: Ticket, lastZxid = 0n): Promise<Buffer | undefined> {
    const before = player.connection;
    const connection = new WireConnection(this.#port);
    const response = await connection.handshake(sessionTimeoutMs, ticket, lastZxid);
    const read = response && readConnectResponse(response);
    this.#lines.push(
      read
        ? `resumed ${read.timeoutMs} ${this.#sessions.get(read.ticket.sessionId) ?? read.ticket.sessionId} ${read.rest}`
        : 'refused without a word',
    );
    if (!read || read.ticket.sessionId === 0n) {
      await connection.until(() => false);
      return undefined;
    }
    await before.until(() => before.isClosed);
    Object.assign(player, { connection, read: 0, pings: 0 });
    return response;
  }

  async #reconnect(player: Player, name: number, as: 'owner' | 'thief' | 'stranger' | 'newer'): Promise<void> {
    const { ticket, connection } = player;
    this.#note(name);
    if (as === 'owner') await this.#dial(player, ticket);
    else if (as === 'stranger') await this.#dial(player, { sessionId: 12_345n, password: ticket.password });
    else if (as === 'newer') await this.#dial(player, ticket, 2n ** 60n);
    else {
      await this.#dial(player, { sessionId: ticket.sessionId, password: Buffer.alloc(16, 7) });
      // The wrong password has cost the owner its connection.
      await connection.until(() => connection.isClosed);
    }
  }

  async #ask(player: Player, requests: readonly Request[]): Promise<void> {
    const { connection } = player;
    const frames = requests.map((request) => {
      player.xid += 1;
      player.requests.set(player.xid, request);
      if (isPing(request)) player.pings += 1;
      return encode(player.xid, request, this.#scale.zxid);
    });
    connection.write(Buffer.concat(frames));
    const [only] = requests;
    if (only && mayClose.includes(only.op)) await this.#answeredOrClosed(player);
    else await this.#settle(player);
  }

  /**
   * A ping right behind such a request would be answered before the connection is closed, or not: it is the server's
   * race.
   */
  async #answeredOrClosed({ connection, xid, requests }: Player): Promise<void> {
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
   * Until all that was sent has been dealt with: pings are answered in their turn, whatever became of the requests
   * before them.
   */
  async #settle(player: Player): Promise<void> {
    const { connection } = player;
    player.pings += 1;
    connection.write(encode(0, { op: 'ping' }, 0));
    await connection.until(
      () => connection.frames.filter((frame) => frame.readInt32BE(0) === -2).length >= player.pings,
    );
  }

  #note(name: number): void {
    const player = this.#players.get(name);
    if (!player) return;
    const { connection, requests } = player;
    for (const frame of connection.frames.slice(player.read))
      this.#lines.push(`${name}: ${lineOf(frame, requests, this.#scale)}`);
    player.read = connection.frames.length;
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
