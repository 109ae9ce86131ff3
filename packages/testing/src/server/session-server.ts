import { authenticate, saslAnswer } from './authentication.js';
import type { Clock } from './test-clock.js';
import { connectResponse, readConnectRequest, type ConnectRequest } from '../wire/connect-request.js';
import type { Fault } from './fault-script.js';
import { Faults } from './faults.js';
import { answerWord, knownWords } from './four-letter-words.js';
import type { Incoming } from '../wire/frame-reader.js';
import type { ProposerOptions } from '../tree/proposer.js';
import { JuteWriter } from '../wire/jute.js';
import { opcodes, xids } from '../wire/opcodes.js';
import { errorNumbers, Refusal } from '../wire/refusal.js';
import { ServerConnection, type ConnectionHost } from './server-connection.js';
import { sessionName, SessionTable, type Session } from './session-table.js';
import { StateMachine } from '../tree/state-machine.js';
import type { WatchEvent } from '../tree/watch-table.js';

/**
 * The sessions and their connections: which connection has which session, how each request is handled, and which
 * sessions have expired.
 */
export class SessionServer implements ConnectionHost {
  readonly words = knownWords;
  readonly machine: StateMachine;
  readonly connections = new Set<ServerConnection>();
  readonly faults = new Faults();
  received = 0;
  sent = 0;
  readonly #options: SessionServerOptions;
  readonly #sessions: SessionTable;
  readonly #bySession = new Map<bigint, ServerConnection>();
  /** The functions that cancel the delayed request of a connection. */
  readonly #delays = new Map<ServerConnection, () => void>();
  readonly #toFlush = new Set<ServerConnection>();
  readonly #events = new JuteWriter();

  constructor(options: SessionServerOptions) {
    this.#options = options;
    this.machine = new StateMachine(options);
    this.#sessions = new SessionTable(options.tickTimeMs, options.clock.now(), options.random);
  }

  get maxBufferBytes(): number {
    return this.#options.maxBufferBytes;
  }

  get sessions(): readonly Session[] {
    return this.#sessions.all;
  }

  get sessionNames(): string[] {
    return this.sessions.map(({ id }) => sessionName(id));
  }

  /** A session of an earlier run of this server: its timeout begins anew. */
  restoreSession(id: bigint, password: Buffer, timeoutMs: number): void {
    this.#sessions.restore(id, password, timeoutMs, this.#options.clock.now());
  }

  incoming(connection: ServerConnection, incoming: Incoming): void {
    switch (incoming.is) {
      case 'malformed':
        connection.close();
        break;
      case 'word':
        connection.send(Buffer.from(answerWord(incoming.word, this, this.#options.fourLetterWords)));
        connection.close();
        break;
      case 'frame':
        this.received += 1;
        if (connection.sessionId === 0n) this.#connect(connection, incoming.body);
        else this.#request(connection, incoming.body);
    }
  }

  toFlush(connection: ServerConnection): void {
    this.sent += 1;
    this.#toFlush.add(connection);
  }

  settled(): void {
    for (const connection of this.#toFlush) connection.flush();
    this.#toFlush.clear();
  }

  ended(connection: ServerConnection): void {
    this.#delays.get(connection)?.();
    this.#delays.delete(connection);
    this.connections.delete(connection);
    this.#toFlush.delete(connection);
    this.machine.tree.removeWatcher(connection);
    if (this.#bySession.get(connection.sessionId) === connection) this.#bySession.delete(connection.sessionId);
  }

  /** Ends the sessions that have timed out. Their clients are still told of the deletions. */
  expire(): void {
    for (const { id } of this.#sessions.expired(this.#options.clock.now())) this.endSession(id, true);
  }

  /**
   * Ends a session as its timeout would: its ephemeral znodes are deleted, and its connection is closed. Returns false
   * if there is no such session.
   *
   * @param isTold whether its client still gets the events of its znodes: a real server sends some, all or none of them
   */
  endSession(id: bigint, isTold = false): boolean {
    if (!this.#sessions.delete(id)) return false;
    const connection = this.#bySession.get(id);
    if (!isTold) connection?.close();
    this.#deliver(this.machine.closeSession(id).events);
    connection?.close();
    this.settled();
    return true;
  }

  /** Deletes empty containers, and znodes whose time to live is over. */
  reap(): void {
    this.#deliver(this.machine.reap(this.#time()));
    this.settled();
  }

  #connect(connection: ServerConnection, body: Buffer): void {
    const request = this.#read(() => readConnectRequest(body, this.maxBufferBytes));
    // A client that has seen a newer zxid than this server's is refused without a reply, because another server may
    // know that zxid.
    if (!request || request.lastZxid > this.machine.zxid) {
      connection.close();
      return;
    }
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#options;
    connection.timeoutMs = Math.min(Math.max(request.timeoutMs, minSessionTimeoutMs), maxSessionTimeoutMs);
    connection.saysReadOnly = request.saysReadOnly;
    if (request.sessionId === 0n) this.#openSession(connection);
    else this.#resumeSession(connection, request);
  }

  #openSession(connection: ServerConnection): void {
    const { id } = this.#sessions.open(connection.timeoutMs, this.#options.clock.now());
    this.machine.openSession(id, connection.timeoutMs);
    this.#attach(connection, id);
  }

  #resumeSession(connection: ServerConnection, { sessionId, password, saysReadOnly }: ConnectRequest): void {
    // This happens before the check of the password, as in the Java server.
    this.#bySession.get(sessionId)?.close();
    const session = this.#sessions.get(sessionId);
    if (
      session?.password.equals(password) === true &&
      this.#sessions.touch(sessionId, connection.timeoutMs, this.#options.clock.now())
    ) {
      this.#attach(connection, sessionId);
      return;
    }
    connection.send(connectResponse(undefined, saysReadOnly));
    connection.close();
  }

  #attach(connection: ServerConnection, id: bigint): void {
    connection.sessionId = id;
    this.#bySession.set(id, connection);
    const session = this.#sessions.get(id);
    if (session)
      connection.send(connectResponse({ ...session, timeoutMs: connection.timeoutMs }, connection.saysReadOnly));
  }

  #request(connection: ServerConnection, frame: Buffer): void {
    if (frame.length < 8) {
      connection.close();
      return;
    }
    const fault = this.faults.of(connection.sessionId, frame);
    if (fault === undefined) this.#perform(connection, frame);
    else this.#fail(connection, frame, fault);
  }

  #perform(connection: ServerConnection, frame: Buffer): void {
    const xid = frame.readInt32BE(0);
    const opcode = frame.readInt32BE(4);
    const body = frame.subarray(8);
    if (opcode === opcodes.auth) this.#authenticate(connection, xid, body);
    else if (opcode === opcodes.sasl) this.#answerSasl(connection, xid, body);
    else if (!this.#mayAsk(connection)) {
      connection.send(this.machine.bare(xid, 0, errorNumbers.SESSION_CLOSED_REQUIRE_SASL_AUTH));
      connection.close();
    } else if (this.#sessions.touch(connection.sessionId, connection.timeoutMs, this.#options.clock.now()))
      this.#answer(connection, xid, opcode, body);
  }

  #mayAsk({ identities }: ServerConnection): boolean {
    const { enforceAuthSchemes: schemes } = this.#options;
    return schemes.length === 0 || identities.some(({ scheme }) => schemes.includes(scheme));
  }

  #answer(connection: ServerConnection, xid: number, opcode: number, body: Buffer): void {
    if (xid >= 0) connection.lastXid = xid;
    if (!knownOpcodes.has(opcode)) {
      connection.send(this.machine.bare(xid, -1, errorNumbers.UNIMPLEMENTED));
      connection.close();
    } else if (opcode === opcodes.closeSession) {
      this.#sessions.delete(connection.sessionId);
      const { events, answer } = this.machine.closeSession(connection.sessionId, xid);
      this.#deliver(events);
      if (answer) connection.send(answer);
      connection.close();
    } else {
      const { events, answer } = this.machine.answer(connection, xid, opcode, body, this.#time());
      this.#deliver(events);
      if (answer) connection.send(answer);
    }
  }

  #authenticate(connection: ServerConnection, xid: number, body: Buffer): void {
    const authentication = this.#read(() => authenticate(body, this.maxBufferBytes));
    if (authentication?.is === 'good') {
      if (authentication.identity) connection.addIdentity(authentication.identity);
      connection.send(this.machine.bare(xid, 0, 0));
      return;
    }
    if (authentication) connection.send(this.machine.bare(xid, 0, errorNumbers.AUTH_FAILED));
    connection.close();
  }

  #answerSasl(connection: ServerConnection, xid: number, body: Buffer): void {
    const answer = this.#read(() => saslAnswer(xid, body, this.maxBufferBytes));
    if (answer) connection.send(answer);
    else connection.close();
  }

  #fail(connection: ServerConnection, frame: Buffer, fault: Fault): void {
    if (fault === 'lose-request') connection.cut();
    else if (fault === 'lose-answer') {
      connection.mute();
      this.#perform(connection, frame);
      connection.cut();
    } else if (fault === 'expire-session') this.endSession(connection.sessionId);
    else if (fault !== 'ignore') {
      if ('refuse' in fault)
        connection.send(this.machine.bare(frame.readInt32BE(0), this.machine.zxid, errorNumbers[fault.refuse]));
      else this.#delay(connection, frame, fault.delayMs);
    }
  }

  #delay(connection: ServerConnection, frame: Buffer, delayMs: number): void {
    connection.hold();
    const cancel = this.#options.clock.after(delayMs, () => {
      this.#delays.delete(connection);
      connection.release(() => this.#perform(connection, frame));
      this.settled();
    });
    this.#delays.set(connection, cancel);
  }

  #deliver(events: readonly WatchEvent[]): void {
    for (const { watcher, type, path, zxid } of events) {
      const frame = this.#events.reset().int(xids.notification).count(zxid).int(0).int(type).int(3).text(path).frame();
      if (watcher instanceof ServerConnection) watcher.send(frame);
    }
  }

  #time(): number {
    return Math.floor(this.#options.clock.now());
  }

  #read<T>(read: () => T): T | undefined {
    try {
      return read();
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }
}

export interface SessionServerOptions extends ProposerOptions {
  readonly tickTimeMs: number;
  readonly minSessionTimeoutMs: number;
  readonly maxSessionTimeoutMs: number;
  readonly enforceAuthSchemes: readonly string[];
  readonly fourLetterWords: readonly string[];
  readonly clock: Clock;
  readonly random: () => number;
}

/** All opcodes that ZooKeeper 3.8 knows. */
const knownOpcodes = new Set<number>(Object.values(opcodes));
