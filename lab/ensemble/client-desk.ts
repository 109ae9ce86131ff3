import { authenticate, saslAnswer } from '../../packages/testing/src/server/authentication.ts';
import {
  connectResponse,
  readConnectRequest,
  type ConnectRequest,
} from '../../packages/testing/src/wire/connect-request.ts';
import type { Incoming } from '../../packages/testing/src/wire/frame-reader.ts';
import { JuteWriter } from '../../packages/testing/src/wire/jute.ts';
import { opcodes, xids } from '../../packages/testing/src/wire/opcodes.ts';
import { isChange } from '../../packages/testing/src/tree/proposer.ts';
import type { Change } from '../../packages/testing/src/tree/proposal.ts';
import { errorNumbers, Refusal } from '../../packages/testing/src/wire/refusal.ts';
import type { Member } from './member.ts';
import { MemberConnection, type ConnectionHost, type LocalRequest, type ServerEnd } from './member-connection.ts';
import type { Entry, Request } from './messages.ts';
import { passwordOf, SessionIds } from './session-ids.ts';
import type { Settings } from './settings.ts';

/** One member's clients: their connections, the order of their answers, and which sessions the member heard from. */
export class ClientDesk implements ConnectionHost {
  readonly #member: Member;
  readonly #settings: Settings;
  readonly #secret: number;
  readonly #ids: SessionIds;
  readonly #connections = new Set<MemberConnection>();
  readonly #bySession = new Map<bigint, MemberConnection>();
  /** The newest connections that wait until the leader has validated their session. */
  readonly #validating = new Map<bigint, MemberConnection>();
  readonly #events = new JuteWriter();
  /** The number of further requests that are throttled, by session. */
  readonly #throttled = new Map<bigint, number>();
  #toFlush: MemberConnection[] = [];
  #touched = new Map<bigint, number>();

  constructor(member: Member, settings: Settings, secret: number) {
    this.#member = member;
    this.#settings = settings;
    this.#secret = secret;
    this.#ids = new SessionIds(member.id, settings.clock.now());
  }

  get maxBufferBytes(): number {
    return this.#settings.maxBufferBytes;
  }

  accept(end: ServerEnd): void {
    this.#connections.add(new MemberConnection(end, this));
  }

  incoming(connection: MemberConnection, incoming: Incoming): void {
    const { at } = this.#member.role;
    if (incoming.is !== 'frame' || at === 'looking' || at === 'down') connection.close();
    else if (connection.sessionId === 0n) this.#connect(connection, incoming.body);
    else this.#request(connection, incoming.body);
  }

  ended(connection: MemberConnection): void {
    const { sessionId } = connection;
    this.#connections.delete(connection);
    this.#member.replica.tree.removeWatcher(connection);
    if (this.#bySession.get(sessionId) === connection) this.#bySession.delete(sessionId);
  }

  toFlush(connection: MemberConnection): void {
    this.#toFlush.push(connection);
  }

  flush(): void {
    if (this.#toFlush.length === 0) return;
    const connections = this.#toFlush;
    this.#toFlush = [];
    for (const connection of connections) connection.flush();
  }

  closeAll(): void {
    for (const connection of [...this.#connections]) connection.close();
    this.#touched.clear();
    this.#validating.clear();
  }

  /** The sessions that a follower has heard from since the last call. */
  takeTouched(): ReadonlyMap<bigint, number> {
    if (this.#touched.size === 0) return nothingTouched;
    const touched = this.#touched;
    this.#touched = new Map();
    return touched;
  }

  /** Applies an entry of the log, tells the clients that watch, and answers the client that asked. */
  apply({ proposal, request }: Entry): void {
    const { replica } = this.#member;
    const own = request && this.#isOwn(request) ? request : undefined;
    const answer = replica.apply(proposal, own?.xid);
    this.#tellWatchers();
    const { change } = proposal;
    if (own) {
      if (own.is === 'open') this.#opened(own.connection, true);
      // The connection of a session that has moved ends without an answer (ZOOKEEPER-710).
      else if (isMoved(change)) own.connection.close();
      else if (answer) own.connection.send(answer);
      this.#answered(own);
    }
    if (change.is !== 'closeSession') return;
    this.#touched.delete(change.sessionId);
    (own?.connection ?? this.#bySession.get(change.sessionId))?.close();
  }

  synced(request: Request): void {
    const { connection, xid, opcode, body } = request;
    if (!this.#isOwn(request)) return;
    connection.send(this.#member.replica.read(connection, xid, opcode, body));
    this.#answered(request);
  }

  validated(sessionId: bigint, isValid: boolean): void {
    const connection = this.#validating.get(sessionId);
    this.#validating.delete(sessionId);
    if (connection && !connection.isClosed) this.#opened(connection, isValid);
  }

  #connect(connection: MemberConnection, body: Buffer): void {
    const request = readOrRefuse(() => readConnectRequest(body, this.maxBufferBytes));
    // A client that has seen a newer zxid than this member's is refused without a reply: another member may know it.
    if (!request || request.lastZxid > this.#member.replica.zxid) {
      connection.close();
      return;
    }
    const { minSessionTimeoutMs, maxSessionTimeoutMs } = this.#settings;
    connection.timeoutMs = Math.min(Math.max(request.timeoutMs, minSessionTimeoutMs), maxSessionTimeoutMs);
    connection.saysReadOnly = request.saysReadOnly;
    connection.hold();
    if (request.sessionId === 0n) this.#openSession(connection);
    else this.#resumeSession(connection, request);
  }

  #openSession(connection: MemberConnection): void {
    connection.sessionId = this.#ids.next();
    this.#bySession.set(connection.sessionId, connection);
    this.#submit({ is: 'open', connection, xid: 0, opcode: 0, body: noBody });
  }

  #resumeSession(connection: MemberConnection, { sessionId, password }: ConnectRequest): void {
    // This happens before the check of the password, as in the Java server.
    this.#bySession.get(sessionId)?.close();
    connection.sessionId = sessionId;
    this.#bySession.set(sessionId, connection);
    if (passwordOf(sessionId, this.#secret).equals(password)) {
      this.#validating.set(sessionId, connection);
      this.#member.validate(sessionId, connection.timeoutMs);
    } else this.#opened(connection, false);
  }

  #opened(connection: MemberConnection, isValid: boolean): void {
    const { sessionId: id, timeoutMs, saysReadOnly } = connection;
    const granted = { id, timeoutMs, password: passwordOf(id, this.#secret) };
    connection.send(connectResponse(isValid ? granted : undefined, saysReadOnly));
    if (isValid) connection.release();
    else connection.close();
  }

  /** So many further requests of the session are not carried out: the client is to ask again later. */
  throttle(sessionId: bigint, requests: number): void {
    this.#throttled.set(sessionId, requests);
  }

  #request(connection: MemberConnection, frame: Buffer): void {
    if (frame.length < 8) {
      connection.close();
      return;
    }
    const xid = frame.readInt32BE(0);
    const opcode = frame.readInt32BE(4);
    const body = frame.subarray(8);
    if (opcode === opcodes.auth) this.#authenticate(connection, xid, body);
    else if (opcode === opcodes.sasl) this.#answerSasl(connection, xid, body);
    else if (this.#touch(connection)) {
      const is = this.#isThrottled(connection.sessionId, opcode) ? 'throttled' : this.#kindOf(opcode);
      if (is === 'local' || is === 'throttled') connection.queue.push({ is, xid, opcode, body });
      else this.#submit({ is, connection, xid, opcode, body });
      this.#answerLocal(connection);
    }
  }

  /** As Java's RequestThrottler, which lets pings and the ends of sessions pass. */
  #isThrottled(sessionId: bigint, opcode: number): boolean {
    const left = this.#throttled.get(sessionId) ?? 0;
    if (left === 0 || opcode === opcodes.ping || opcode === opcodes.closeSession) return false;
    this.#throttled.set(sessionId, left - 1);
    return true;
  }

  /** The leader answers a sync of its own client from its tree, like a read: Java's CommitProcessor does not wait. */
  #kindOf(opcode: number): Request['is'] | 'local' {
    if (isChange(opcode)) return 'change';
    if (opcode === opcodes.closeSession) return 'close';
    return opcode === opcodes.sync && this.#member.role.at === 'following' ? 'sync' : 'local';
  }

  /** A follower does not know which sessions are over. It accepts all. */
  #touch({ sessionId, timeoutMs }: MemberConnection): boolean {
    const { role } = this.#member;
    if (role.at === 'leading') return role.leadership.sessions.touch(sessionId, timeoutMs, this.#settings.clock.now());
    this.#touched.set(sessionId, timeoutMs);
    return true;
  }

  #submit(request: Request): void {
    request.connection.queue.push(request);
    this.#member.submit(request);
  }

  #isOwn({ connection }: Request): boolean {
    return this.#connections.has(connection);
  }

  /** Answers go out in the order of the requests (Java's CommitProcessor). */
  #answered(request: Request): void {
    const { connection } = request;
    if (connection.isClosed) return;
    if (connection.queue.shift() !== request) throw new Error('An answer overtook another one of the same client');
    this.#answerLocal(connection);
  }

  #answerLocal(connection: MemberConnection): void {
    const { queue } = connection;
    for (let [first] = queue; first?.is === 'local' || first?.is === 'throttled'; [first] = queue) {
      queue.shift();
      this.#read(connection, first);
    }
  }

  #read(connection: MemberConnection, { is, xid, opcode, body }: LocalRequest): void {
    const { replica, role, id } = this.#member;
    const refusal = role.at === 'leading' ? role.leadership.sessions.refusalOf(connection.sessionId, id) : undefined;
    if (refusal === Refusal.of('SESSION_MOVED')) connection.close();
    else if (refusal) connection.send(replica.bare(xid, replica.zxid, refusal.number));
    else if (is === 'throttled') connection.send(replica.bare(xid, replica.zxid, errorNumbers.THROTTLED_OP));
    else if (knownOpcodes.has(opcode)) {
      const answer = replica.read(connection, xid, opcode, body);
      this.#tellWatchers();
      connection.send(answer);
    } else {
      connection.send(replica.bare(xid, -1, errorNumbers.UNIMPLEMENTED));
      connection.close();
    }
  }

  #authenticate(connection: MemberConnection, xid: number, body: Buffer): void {
    const { replica } = this.#member;
    const authentication = readOrRefuse(() => authenticate(body, this.maxBufferBytes));
    if (authentication?.is === 'good') {
      if (authentication.identity) connection.addIdentity(authentication.identity);
      connection.send(replica.bare(xid, 0, 0));
      return;
    }
    if (authentication) connection.send(replica.bare(xid, 0, errorNumbers.AUTH_FAILED));
    connection.close();
  }

  #answerSasl(connection: MemberConnection, xid: number, body: Buffer): void {
    const answer = readOrRefuse(() => saslAnswer(xid, body, this.maxBufferBytes));
    if (answer) connection.send(answer);
    else connection.close();
  }

  /** Events go out first: no client may see a change in an answer before it gets the event. */
  #tellWatchers(): void {
    for (const { watcher, type, path } of this.#member.replica.tree.takeEvents()) {
      const frame = this.#events.reset().int(xids.notification).count(-1).int(0).int(type).int(3).text(path).frame();
      if (watcher instanceof MemberConnection) watcher.send(frame);
    }
  }
}

const noBody = Buffer.alloc(0);
const nothingTouched: ReadonlyMap<bigint, number> = new Map();

/** All opcodes that ZooKeeper 3.8 knows. */
const knownOpcodes = new Set<number>(Object.values(opcodes));

/** Returns undefined if the record is cut short. */
function readOrRefuse<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

/** A multi counts as well: a real follower ends the connection (test/ensemble/moved-session.test.ts). */
function isMoved(change: Change): boolean {
  const moved = Refusal.of('SESSION_MOVED');
  return change.is === 'refused' ? change.refusal === moved : change.is === 'multi' && change.items.includes(moved);
}
