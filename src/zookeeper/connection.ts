import net from 'node:net';
import zookeeper, { type ConnectionManager, type Packet } from 'node-zookeeper-client';
import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { longestConnectResponse, readConnectResponse } from './connect-response.js';
import { describeHosts, type Host } from './connect-string.js';
import { FrameSplitter, longestFrame } from './frames.js';
import { lookupShuffled } from './lookup.js';
import { setWatches, type Operation, type WatchKind } from './operations.js';
import { Reader, Writer } from './wire.js';
import { ZooKeeperError } from './zookeeper-error.js';

/**
 * node-zookeeper-client, hardened: one ZooKeeper session over one TCP connection after another. It is the only file
 * that
 * knows the insides of that library; every line that replaces one of its methods mends a measured failure.
 */
export class Connection {
  readonly #manager: ConnectionManager;
  readonly #listener: ConnectionListener;
  readonly #options: ConnectionOptions;
  readonly #chroot: Buffer;
  #frames = new FrameSplitter();
  #connectSentAt = 0;
  #nextHost = 0;
  #failedRounds = 0;
  /** Rounds over the hosts in which an attempt ran out of time, since a server answered a ConnectRequest. */
  #unansweredRounds: number;
  #hasRunOut = false;
  #cancelAttempt: CancelTimer = () => {};
  #corked = false;
  /** `host:port` of the last connection or attempt. */
  server = '';
  /** When the last request was answered. */
  heardAt = 0;
  /** Why the last connection or attempt ended, for the error that a user sees. */
  lastError: unknown;
  /** The same for each server that was tried since the last connection, by `host:port`. */
  readonly failures = new Map<string, unknown>();

  constructor(options: ConnectionOptions, listener: ConnectionListener) {
    this.#options = options;
    this.#listener = listener;
    this.#chroot = Buffer.from(options.chroot);
    this.#unansweredRounds = options.unansweredRounds ?? 0;
    // `retries` stays 0: a create repeated after a lost reply leaves an orphan in the live session.
    const client = zookeeper.createClient('127.0.0.1', {
      sessionTimeout: options.sessionTimeoutMs,
      retries: 0,
      ...(options.resume && { sessionId: options.resume.id, sessionPassword: options.resume.password }),
    });
    for (const { scheme, credentials } of options.auth) client.addAuthInfo(scheme, Buffer.from(credentials));
    this.#manager = client.connectionManager;
    if (options.resume) this.#manager.zxid.writeBigInt64BE(options.resume.lastZxid);
    this.#harden();
  }

  connect(): void {
    this.#manager.connect();
  }

  get isConnected(): boolean {
    return this.#manager.state === states.connected;
  }

  /** The timeout that the last server granted. */
  get timeoutMs(): number {
    return this.#manager.sessionTimeout;
  }

  get identity(): SessionIdentity {
    return {
      id: Buffer.from(this.#manager.sessionId),
      password: Buffer.from(this.#manager.sessionPassword),
      lastZxid: this.lastZxid,
    };
  }

  get sessionId(): bigint {
    return this.#manager.sessionId.readBigInt64BE();
  }

  get lastZxid(): bigint {
    return this.#manager.zxid.readBigInt64BE();
  }

  /**
   * Since when the server owes the next answer: since it gave the last one, or since the request was sent. Answers come
   * in order, so a
   * request that waits behind many others says nothing of the link.
   */
  get unansweredSince(): number | undefined {
    const request = this.#manager.pendingQueue[0]?.request;
    return request instanceof WireRequest && request.sentAt !== undefined
      ? Math.max(request.sentAt, this.heardAt)
      : undefined;
  }

  /**
   * Sends a request now, or fails it now: nothing is kept for a later connection, where it would overtake the
   * authentication and could be executed long after its caller gave up.
   */
  send<T>(operation: Operation<T>): Promise<Reply<T>> {
    return new Promise((resolve, reject) => {
      if (!this.isConnected) {
        reject(
          new ZooKeeperError(ZooKeeperError.connectionLoss, operation.name, operation.path, { cause: this.lastError }),
        );
        return;
      }
      this.#cork();
      const chroot = operation.isAbsolute ? noChroot : this.#chroot;
      const request = new WireRequest(operation, chroot, this.#options.clock);
      this.#manager.queue(request, (error, frame) => {
        if (frame === undefined) {
          reject(
            new ZooKeeperError(error?.code ?? ZooKeeperError.connectionLoss, operation.name, operation.path, {
              cause: this.lastError,
            }),
          );
          return;
        }
        const header = readReplyHeader(frame);
        this.#listener.answered(operation, request.sentAt ?? 0, header.error);
        if (header.error !== 0) {
          reject(new ZooKeeperError(header.error, operation.name, operation.path));
          return;
        }
        try {
          resolve({ value: operation.read(new Reader(frame, replyBodyAt, chroot)), zxid: header.zxid });
        } catch (unreadable) {
          reject(
            new ZooKeeperError(ZooKeeperError.connectionLoss, operation.name, operation.path, { cause: unreadable }),
          );
          throw unreadable;
        }
      });
    });
  }

  /** Ends this TCP connection; the next server is tried at once. */
  drop(why: Error): void {
    this.#manager.socket?.destroy(why);
  }

  /** Ends the connection for good, without a word to the server: the session lives there until it expires. */
  abandon(): void {
    this.#cancelAttempt();
    this.#manager.state = states.closed;
    this.#manager.socket?.destroy();
    this.#failUnanswered();
  }

  #harden(): void {
    const manager = this.#manager;
    const connected = manager.onSocketConnected.bind(manager);

    manager.connect = () => this.#tryNextHost();
    manager.onSocketConnected = () => {
      this.#frames = new FrameSplitter(longestConnectResponse);
      this.#connectSentAt = this.#options.clock.now();
      connected();
    };
    // The library allocates what a length says before it looks whether the bytes are there, and throws past everybody.
    manager.onSocketData = (chunk) => this.#receive(chunk);
    // The library's own goes on to the next server only if nothing throws on the way.
    manager.onSocketClosed = () => {
      this.#guard('A lost connection was not told to the end', () => manager.setState(states.disconnected));
      this.#tryNextHost();
    };
    // A ping keeps the session alive, but nobody looks for its answer; the session sends its own heartbeats.
    manager.onSocketTimeout = () => {};
    this.#wrapXid();
    manager.on('state', (state) => this.#stateChanged(state));
  }

  #tryNextHost(): void {
    const { hosts, clock, random } = this.#options;
    const manager = this.#manager;
    const index = this.#nextHost % hosts.length;
    const host = hosts[index];
    // Who was just told of the disconnection may have answered by abandoning it all.
    if (host === undefined || manager.state === states.closed) return;
    const name = describeHosts({ hosts: [host] });
    this.server = name;
    this.#nextHost = index + 1;
    manager.setState(states.connecting);

    const delayMs = index === 0 ? this.#beginRound() : 0;
    this.#cancelAttempt = clock.after(delayMs, () => {
      const attempt = { startedAt: clock.now(), wasAccepted: false };
      const socket = net.connect({ host: host.host, port: host.port, lookup: lookupShuffled(random) });
      manager.socket = socket;
      socket.setNoDelay();
      socket.on('connect', () => {
        attempt.wasAccepted = true;
        this.#guard('The session could not be asked for', () => manager.onSocketConnected());
      });
      socket.on('data', (chunk) => manager.onSocketData(chunk));
      socket.on('drain', () => this.#guard('A request could not be written', () => manager.onSocketDrain()));
      socket.on('close', () => this.#socketClosed(socket, name, attempt));
      socket.on('error', () => {
        // 'close' follows, and `socket.errored` keeps it.
      });
      // Covers the ConnectResponse too: a server that accepts and says nothing would hold us for ever.
      const attemptMs = this.#listener.attemptMs(this.#unansweredRounds);
      this.#cancelAttempt = clock.after(attemptMs, () => {
        this.#hasRunOut = true;
        this.drop(new Error(`${name} did not answer within ${Math.round(attemptMs)} ms`));
      });
    });
  }

  /** How long to wait before it. */
  #beginRound(): number {
    if (this.#hasRunOut) this.#unansweredRounds += 1;
    this.#hasRunOut = false;
    return roundDelayMs(this.#failedRounds++, this.#options.random());
  }

  #socketClosed(socket: net.Socket, name: string, attempt: UnansweredAttempt): void {
    const manager = this.#manager;
    this.#cancelAttempt();
    if (manager.socket !== socket || manager.state === states.closed) return;
    this.lastError = socket.errored ?? new Error(`${name} closed the connection`);
    this.failures.set(name, this.lastError);
    if (manager.state === states.connecting)
      this.#guard('A lost connection was not told to the end', () => this.#listener.unanswered(attempt));
    // Told of it, the session may have ended.
    if (this.#manager.state !== states.closed) manager.onSocketClosed();
  }

  #stateChanged(state: number): void {
    switch (state) {
      case states.connected:
        this.#cancelAttempt();
        this.lastError = undefined;
        this.failures.clear();
        this.#tellWatches('data');
        this.#tellWatches('children');
        this.#listener.connected(this.#connectSentAt);
        return;
      case states.disconnected:
        this.#failUnanswered();
        this.#listener.disconnected();
        return;
      case states.expired:
        this.abandon();
        this.#listener.expired();
        return;
      case states.authFailed:
        this.abandon();
        this.#listener.authFailed();
        return;
    }
  }

  #receive(chunk: Buffer): void {
    const manager = this.#manager;
    const socket = manager.socket;
    const what =
      manager.state === states.connecting
        ? `What ${this.server} granted cannot be used; trying the next server`
        : 'A reply could not be read; reconnecting';
    // What does not parse cannot be answered in order either: only a new connection is in a known state.
    this.#guard(what, () => {
      for (const frame of this.#frames.push(chunk)) {
        if (socket?.destroyed !== false || manager.state === states.closed) return;
        if (manager.state === states.connecting) this.#granted(frame);
        else this.#dispatch(frame);
      }
    });
  }

  #granted(frame: Buffer): void {
    const manager = this.#manager;
    const { timeoutMs, sessionId, password } = readConnectResponse(frame, this.sessionId);
    this.#unansweredRounds = 0;
    this.#hasRunOut = false;
    if (timeoutMs === 0) {
      manager.setState(states.expired);
      return;
    }
    this.#frames.longest = longestFrame;
    manager.sessionId.writeBigInt64BE(sessionId);
    manager.sessionPassword = password;
    manager.sessionTimeout = timeoutMs;
    manager.setState(states.connected);
    // The authentication, and what was asked for while the state was told.
    manager.onSocketDrain();
  }

  #dispatch(frame: Buffer): void {
    const manager = this.#manager;
    const header = readReplyHeader(frame);
    if (header.xid === pingXid) return;
    if (header.xid === authXid) {
      if (header.error === authFailedError) manager.setState(states.authFailed);
      return;
    }
    if (header.xid === watchXid) {
      const event = new Reader(frame, replyBodyAt, this.#chroot);
      const type = eventTypes[event.int()];
      event.int();
      if (type !== undefined) this.#listener.watchFired(event.path(), type);
      return;
    }
    const packet = manager.pendingQueue.shift();
    if (packet?.request.header?.xid !== header.xid) {
      if (packet) manager.pendingQueue.unshift(packet);
      throw new Error(`An answer to request ${header.xid} came where ${packet?.request.header?.xid ?? 'none'} was due`);
    }
    // Not at the ConnectResponse: a server that drops every session right after it would be dialled without a pause.
    this.#failedRounds = 0;
    this.heardAt = this.#options.clock.now();
    this.#raiseZxid(header.zxid);
    packet.callback(null, frame);
  }

  /**
   * Nothing that throws in a socket's handler reaches the process: the connection is given up instead, and the next
   * server is tried.
   */
  #guard(what: string, run: () => void): void {
    try {
      run();
    } catch (error) {
      this.#listener.warn(what, error);
      this.drop(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** An error reply carries -1 or 0. Handed to the next server, it would let one that lags behind accept us. */
  #raiseZxid(zxid: bigint): void {
    if (zxid > this.lastZxid) this.#manager.zxid.writeBigInt64BE(zxid);
  }

  /**
   * The library only fails what was written. What still waits to be written, as authentication does, would pile up from
   * server to server.
   */
  #failUnanswered(): void {
    const manager = this.#manager;
    manager.cleanupPendingQueue(ZooKeeperError.connectionLoss);
    for (const packet of manager.packetQueue.queue.splice(0)) {
      packet.callback({ code: ZooKeeperError.connectionLoss });
    }
  }

  /** In pieces: one SetWatches of over 1 MB is refused for ever. The library knows of no watches. */
  #tellWatches(kind: WatchKind): void {
    let paths: string[] = [];
    let bytes = 0;
    const flush = (): void => {
      if (paths.length === 0) return;
      this.send(setWatches(this.lastZxid, kind, paths)).catch((error: unknown) => {
        // Without its watches a session would wait for ever: try the next server.
        if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS')) this.drop(error);
      });
      paths = [];
      bytes = 0;
    };
    for (const path of this.#listener.watchedPaths(kind)) {
      const more = 4 + this.#chroot.length + Buffer.byteLength(path);
      if (bytes + more > longestSetWatches) flush();
      paths.push(path);
      bytes += more;
    }
    flush();
  }

  /** All requests of one tick leave in one packet, those included that wait for the end of the tick. */
  #cork(): void {
    const socket = this.#manager.socket;
    if (this.#corked || socket === undefined) return;
    this.#corked = true;
    socket.cork();
    const uncork = (): void => {
      this.#corked = false;
      socket.uncork();
    };
    // In no context: a request that a stalled link keeps unwritten must not keep its caller's context alive.
    inNoContext(() => process.nextTick(() => process.nextTick(uncork)));
  }

  /** The library counts on beyond an int32, and throws when it writes the number. */
  #wrapXid(): void {
    let xid = 1;
    Object.defineProperty(this.#manager, 'xid', {
      get: () => xid,
      set: (next: number) => {
        xid = next > 0x7fffffff ? 1 : next;
      },
    });
  }
}

/** Who the client is to the servers: ZooKeeper's `addauth`. */
export interface Credential {
  /** How the servers check it, such as `digest`. */
  readonly scheme: string;
  /** The secret as the scheme writes it, such as `user:password` for `digest`. */
  readonly credentials: string;
}

/** What names a session on the servers; enough to attach to it from another connection. */
export interface SessionIdentity {
  readonly id: Buffer;
  readonly password: Buffer;
  readonly lastZxid: bigint;
}

export interface ConnectionOptions {
  readonly hosts: readonly Host[];
  /**
   * What every path begins with on the servers: '' for nothing. Requests, answers and watch events have the paths below
   * it.
   */
  readonly chroot: string;
  readonly sessionTimeoutMs: number;
  readonly auth: readonly Credential[];
  readonly clock: Clock;
  readonly random: () => number;
  /** Attach to this session instead of opening a new one. */
  readonly resume?: SessionIdentity;
  /** How many rounds over the hosts went unanswered just before, for the length of the first attempts. */
  readonly unansweredRounds?: number;
}

/** An attempt to connect that ended without an answer to its ConnectRequest. */
export interface UnansweredAttempt {
  readonly startedAt: number;
  /** A server took the TCP connection: it is there, and refused in silence. */
  readonly wasAccepted: boolean;
}

/** Told synchronously, in the order in which things happened on the socket. */
export interface ConnectionListener {
  /**
   * How long one server may take to accept and to answer the ConnectRequest, after so many rounds in which an attempt
   * ran out of time.
   */
  attemptMs(unansweredRounds: number): number;
  /** Told before `disconnected`. */
  unanswered(attempt: UnansweredAttempt): void;
  connected(connectSentAt: number): void;
  /** Every request that was under way has been failed. The next server is tried by itself. */
  disconnected(): void;
  /** The server's word: the session is over. */
  expired(): void;
  authFailed(): void;
  /** `error` is 0, or ZooKeeper's number for it. */
  answered(operation: Operation<unknown>, sentAt: number, error: number): void;
  watchFired(path: string, event: WatchEventType): void;
  /** The watches that the next server must be told of. */
  watchedPaths(kind: WatchKind): string[];
  warn(message: string, error: unknown): void;
}

export type WatchEventType = 'created' | 'deleted' | 'changed' | 'children';

export interface Reply<T> {
  readonly value: T;
  /** The server's newest transaction when it answered. */
  readonly zxid: bigint;
}

/** The library's own state numbers. */
const states = { disconnected: 0, connecting: 1, connected: 2, closing: -1, closed: -2, expired: -3, authFailed: -4 };

const authFailedError = -115;

const pingXid = -2;

const authXid = -4;

const watchXid = -1;

const noChroot = Buffer.alloc(0);

const longestSetWatches = 128 * 1024;

const eventTypes: Partial<Record<number, WatchEventType>> = { 1: 'created', 2: 'deleted', 3: 'changed', 4: 'children' };

class WireRequest implements NonNullable<Packet['request']> {
  readonly header: { xid: number; type: number };
  readonly payload = null;
  sentAt: number | undefined;
  readonly #operation: Operation<unknown>;
  readonly #chroot: Buffer;
  readonly #clock: Clock;

  constructor(operation: Operation<unknown>, chroot: Buffer, clock: Clock) {
    this.header = { xid: 0, type: operation.opcode };
    this.#operation = operation;
    this.#chroot = chroot;
    this.#clock = clock;
  }

  /** Called by the library when the request is written to the socket, which is when the clock of its proof starts. */
  toBuffer(): Buffer {
    this.sentAt = this.#clock.now();
    const writer = new Writer(this.#chroot).int(this.header.xid).int(this.header.type);
    this.#operation.write(writer);
    return writer.frame();
  }
}

const replyBodyAt = 4 + 16;

function readReplyHeader(frame: Buffer): { xid: number; zxid: bigint; error: number } {
  if (frame.length < replyBodyAt)
    throw new RangeError(`A frame of ${frame.length - 4} bytes is too short for an answer`);
  return { xid: frame.readInt32BE(4), zxid: frame.readBigInt64BE(8), error: frame.readInt32BE(16) };
}

/** No wait before the first round over the servers, then 50 ms doubling up to a second, spread by chance. */
export function roundDelayMs(failedRounds: number, random: number): number {
  if (failedRounds === 0) return 0;
  return Math.min(1_000, 50 * 2 ** Math.min(failedRounds - 1, 10)) * (0.5 + random / 2);
}
