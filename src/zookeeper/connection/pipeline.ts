import { inNoContext } from '../../support/no-context.js';
import type { CancelTimer, Clock } from '../../support/clock.js';
import { Call, connectionLost, errorOf, readReplyHeader, replyBodyAt, type ReplyHeader } from '../wire/replies.js';
import type { ConnectionListener } from './connection-options.js';
import { FlowWindow, RequestLanes } from './flow-window.js';
import { refuseCutOff, TooLongError } from '../wire/frames.js';
import { ping, type Operation, type WatchEventType } from '../wire/operations.js';
import { isRepeatable, pauseMs, PostponedRequests, type Postponement } from './postponed-requests.js';
import { SaslRefusal } from '../wire/sasl-handshake.js';
import type { LinkUser, ServerLink } from './server-link.js';
import type { SentRequest, ServerTraits, Treatment } from './server-traits.js';
import { divisors } from '../network/timeout-parts.js';
import { errorNumbers, isPutOff, isUnable, UnknownRequestError } from '../wire/zookeeper-error.js';
import { noChroot, Reader, Writer } from '../wire/wire.js';
import { reached } from '../../support/reached.js';

/**
 * The requests of one connection, and their answers, which come in the same order. All requests of one tick leave in
 * one packet. Requests beyond the window of the connection wait in the process.
 */
export class Pipeline implements LinkUser {
  readonly #options: PipelineOptions;
  readonly #listener: PipelineListener;
  readonly #chroot: Buffer;
  /** The requests whose answers are due, the oldest first. */
  readonly #unanswered: Call[] = [];
  /** The requests that are sent at the end of the tick, or when the link has room again. */
  readonly #unwritten = new Writer();
  readonly #unsent = new RequestLanes();
  readonly #window = new FlowWindow();
  readonly #postponed: PostponedRequests;
  /** The changes that the server could not carry out, until their callers are told. */
  readonly #unsettled = new Map<Call, CancelTimer>();
  /** The time since which the server can carry no change out, and the last time when it said so. */
  #unableSince = -Infinity;
  #unableAt = -Infinity;
  #hasPassedOver = false;
  #timesUnable = 0;
  #isWriteDue = false;
  /** The ping that the server has not answered yet. */
  #ping: Call | undefined;
  #answeredAt = -Infinity;
  #isEnded = false;
  /** The last answer, if the server said that it does not know the request. It may end the connection after that. */
  unknown: UnknownRequestError | undefined;
  readonly link: ServerLink;
  readonly failure = 'A reply could not be read; reconnecting';

  constructor(link: ServerLink, options: PipelineOptions, listener: PipelineListener) {
    this.link = link;
    this.#options = options;
    this.#listener = listener;
    this.#chroot = Buffer.from(options.chroot);
    this.#postponed = new PostponedRequests({ ...options, send: (call) => this.send(call) });
    link.passTo(this);
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** If the server has passed a request over: that one. */
  get unanswered(): SentRequest[] {
    const suspects = this.#hasPassedOver ? this.#unanswered.slice(0, 1) : this.#unanswered;
    return suspects.map(sentOf);
  }

  /** How the server treated the request that ends the connection, if it showed that. */
  get treatment(): Treatment | undefined {
    return this.unknown ?? (this.#hasPassedOver ? 'passed over' : undefined);
  }

  /** The number of requests that may be sent now. */
  get room(): number {
    return this.#unsent.isEmpty ? Math.max(0, this.#window.size - this.#unanswered.length) : 0;
  }

  /**
   * The time since which the server owes the next answer: the time of its last answer, or the time when the request was
   * sent, whichever is later. Answers arrive in order, so the age of a request that waits behind many others says
   * nothing about the link. The answer to a ping does not count: it says nothing about the requests.
   */
  get unansweredSince(): number | undefined {
    const [oldest] = this.#unanswered;
    return oldest ? Math.max(oldest.sentAt, this.#answeredAt) : this.#ping?.sentAt;
  }

  /** Undefined if the server puts no requests off now. */
  get postponement(): Postponement | undefined {
    return this.#postponed.trouble;
  }

  send(call: Call): void {
    const lack = this.#whyNotToSend(call);
    if (lack) this.#refuse(call, lack);
    else if (this.#unsent.isEmpty && this.#hasRoomFor(call)) this.#send(call);
    else {
      reached('window full');
      this.#unsent.add(call);
    }
  }

  /** Sends a ping, unless the server still owes the answer to the last one. It writes no transaction. */
  ping(): void {
    if (this.#ping) return;
    this.#ping = new Call(ping, nobody, nobody);
    this.#ping.xid = pingXid;
    this.#ping.sentAt = this.#options.clock.now();
    this.#unwritten.addFrame(this.#ping, noChroot);
    this.#writeSoon();
  }

  /** Writes the requests that were made, without waiting for the end of the tick. Without room, they wait for it. */
  flush(): void {
    if (this.link.isOpen && this.link.hasRoom && !this.#unwritten.isEmpty) this.link.write(this.#unwritten.frames());
  }

  /** The requests that were not sent yet. The pipeline forgets them. */
  takeUnsent(): Call[] {
    return [...this.#postponed.takeAll(), ...this.#unsent.takeAll()];
  }

  /** True if the answer to a change is due. Proofs on an old connection are worth nothing on a new one. */
  get owesChange(): boolean {
    return this.#unanswered.some(({ operation }) => !operation.isProof && !isRepeatable(operation));
  }

  /** The requests without an answer that may be sent again on another connection. The pipeline forgets them. */
  takeRepeatable(): Call[] {
    const taken: Call[] = [];
    for (const call of this.#unanswered.splice(0)) (isRepeatable(call.operation) ? taken : this.#unanswered).push(call);
    return taken;
  }

  /** Rejects all requests with CONNECTION_LOSS. */
  fail(cause: unknown): void {
    this.#isEnded = true;
    this.#ping = undefined;
    this.#unwritten.clear();
    const unsent = this.takeUnsent();
    if (unsent.length > 0) reached('requests lost before they were sent');
    for (const cancel of this.#unsettled.values()) cancel();
    const untold = [...this.#unsettled.keys(), ...this.#unanswered.splice(0), ...unsent];
    this.#unsettled.clear();
    for (const call of untold) call.reject(connectionLost(call.operation, cause));
  }

  // The methods of LinkUser.

  receive(frame: Buffer): void {
    const header = readReplyHeader(frame);
    switch (header.xid) {
      case pingXid:
        if (header.error === errorNumbers.SESSION_CLOSED_REQUIRE_SASL_AUTH)
          this.#listener.refused(new SaslRefusal('required'));
        else this.#pinged();
        return;
      case authXid:
        if (header.error === errorNumbers.AUTH_FAILED) this.#listener.refused(new SaslRefusal('credentials'));
        return;
      case watchXid:
        this.#watchFired(new Reader(frame, replyBodyAt, this.#chroot));
        return;
      default:
        this.#replied(header, frame);
    }
  }

  chunkEnded(): void {
    this.#fillWindow();
    this.#listener.chunkRead();
    if (this.room > 0) this.#listener.roomMade();
  }

  drained(): void {
    this.flush();
  }

  ended(error: Error | undefined): void {
    this.#isEnded = true;
    this.#listener.ended(this, error);
  }

  #send(call: Call): void {
    const { operation } = call;
    try {
      // Before the frame is begun, because requests that this call sends would be written into the middle of it.
      operation.beforeWrite?.();
      call.xid = this.#options.nextXid();
      call.sentAt = this.#options.clock.now();
      const bytes = this.#unwritten.addFrame(call, this.#chrootOf(operation));
      call.bytes = operation.kind === 'write' && !operation.isProof ? bytes : 0;
      const lack = this.#whyNotToSend(call);
      if (lack) {
        this.#unwritten.dropFrame(bytes);
        throw lack;
      }
      this.#unanswered.push(call);
      call.firstXid ??= call.xid;
    } catch (error) {
      this.#refuse(call, error);
      return;
    }
    this.#writeSoon();
  }

  /** The error of a request that would end this connection. Before it was written, its length is not known. */
  #whyNotToSend({ operation, bytes }: Call): Error | undefined {
    const lack = this.#options.traits.whyNotToSend(operation.name, bytes, this.link.server);
    return lack && errorOf(operation, lack.number, lack);
  }

  /** The request is not sent, or not sent again, so no read waits for it. */
  #refuse(call: Call, error: unknown): void {
    this.#postponed.forget(call);
    call.reject(error);
  }

  #fillWindow(): void {
    for (let call = this.#unsent.first; call && this.#hasRoomFor(call); call = this.#unsent.first) {
      this.#unsent.next();
      this.#send(call);
    }
  }

  /** A request that may end the connection is sent alone, when the server has shown that it answers on this connection. */
  #hasRoomFor({ operation }: Call): boolean {
    const { traits } = this.#options;
    const inFlight = this.#unanswered;
    if (inFlight.length >= this.#window.size) return false;
    if (!traits.isCareful) return true;
    if (traits.goesAlone(operation)) return inFlight.length === 0 && this.#ping === undefined;
    return inFlight.every((each) => !traits.goesAlone(each.operation) || traits.goesBeside(operation, sentOf(each)));
  }

  #pinged(): void {
    const ping = this.#ping;
    if (ping === undefined) throw new Error('The server answered a ping, but no answer was due');
    this.#ping = undefined;
    this.unknown = undefined;
    this.#listener.pinged(ping.sentAt);
  }

  #watchFired(event: Reader): void {
    const type = eventTypes[event.int()];
    event.int();
    if (type !== undefined) this.#listener.watchFired(event.path(), type);
  }

  #replied(header: ReplyHeader, frame: Buffer): void {
    const [call] = this.#unanswered;
    const inFlight = this.#unanswered.length;
    if (call?.xid !== header.xid) {
      this.#hasPassedOver = this.#unanswered.some(({ xid }) => xid === header.xid);
      const due = call ? `the answer to request ${call.xid}` : 'no answer';
      throw new Error(`The server answered request ${header.xid}, but ${due} was due`);
    }
    this.#unanswered.shift();
    if (header.error === errorNumbers.SESSION_CLOSED_REQUIRE_SASL_AUTH) {
      call.reject(errorOf(call.operation, header.error));
      this.#listener.refused(new SaslRefusal('required'));
      return;
    }
    const now = this.#options.clock.now();
    this.#answeredAt = now;
    this.#window.answered(call.sentAt, now, this.#options.timeoutMs(), inFlight);
    const { name } = call.operation;
    this.unknown =
      header.error === errorNumbers.UNIMPLEMENTED
        ? new UnknownRequestError(this.link.server, name, 'does not know')
        : undefined;
    if (!this.unknown) this.#options.traits.answered(name, call.bytes);
    this.#listener.heard(header.zxid, now);
    this.#answered(call, header, frame);
  }

  #answered(call: Call, { error, zxid }: ReplyHeader, frame: Buffer): void {
    const { operation, sentAt } = call;
    if (isPutOff(error) || this.#postponed.isTooEarly(call)) {
      this.#postponed.add(call, error);
      return;
    }
    if (this.#maySoonBeAble(operation, error)) {
      this.#wasUnable(call, error);
      return;
    }
    this.#postponed.answered(call);
    if (error !== 0) {
      this.#listener.answered(operation, sentAt, error);
      call.reject(errorOf(operation, error, this.unknown));
      return;
    }
    let value: unknown;
    try {
      refuseCutOff(frame);
      value = operation.read(new Reader(frame, replyBodyAt, this.#chrootOf(operation)));
    } catch (unreadable) {
      // Only a new connection shows the outcome of a change that was answered so.
      if (unreadable instanceof TooLongError && operation.kind === 'read') {
        call.reject(errorOf(operation, errorNumbers.MARSHALLING_ERROR, unreadable));
        return;
      }
      call.reject(connectionLost(operation, unreadable));
      throw unreadable;
    }
    this.#listener.answered(operation, sentAt, operation.sessionError?.(value) ?? 0);
    call.resolve({ value, zxid, wasPostponed: call.timesPostponed > 0 });
  }

  /**
   * True if the server could not carry the request out, and has time to recover: the next connection may be refused, or
   * may cost the session, as at ClickHouse Keeper. After that time, another server is tried.
   */
  #maySoonBeAble({ kind, name, isProof }: Operation<unknown>, error: number): boolean {
    if (!isUnable(error, isProof)) {
      if (kind === 'write') this.#unableAt = -Infinity;
      return false;
    }
    const now = this.#options.clock.now();
    const longestMs = this.#options.timeoutMs() / divisors.silenceWithHold;
    // A quiet session writes nothing that would show that an earlier trouble is over.
    if (now >= this.#unableAt + longestMs) this.#unableSince = now;
    this.#unableAt = now;
    return name !== 'closeSession' && now < this.#unableSince + longestMs;
  }

  /** Nobody knows whether a change was executed. Its caller is told after a pause, because it may try again at once. */
  #wasUnable(call: Call, error: number): void {
    const { operation } = call;
    if (operation.kind !== 'write' || operation.isProof) {
      this.#postponed.add(call, error);
      return;
    }
    reached('a change that the server could not carry out');
    const { clock, random } = this.#options;
    const tell = (): void => {
      this.#unsettled.delete(call);
      this.#refuse(call, errorOf(operation, error));
    };
    const cancel = inNoContext(() => clock.after(pauseMs(this.#timesUnable++, random()), tell));
    this.#unsettled.set(call, cancel);
  }

  /** Sends all requests of one tick in one packet, including those that wait for the end of the tick. */
  #writeSoon(): void {
    if (this.#isWriteDue) return;
    this.#isWriteDue = true;
    const write = (): void => {
      this.#isWriteDue = false;
      this.link.guard(() => this.flush());
    };
    // The second tick and the promise let a list that is shared by all callers of this tick leave in the same packet.
    const whenTickEnds = (): void => void resolved.then(write);
    // Outside of every context, because a request that cannot be written to a stalled link must not keep its caller's
    // context alive.
    inNoContext(() => process.nextTick(() => process.nextTick(whenTickEnds)));
  }

  #chrootOf(operation: Operation<unknown>): Buffer {
    return operation.isAbsolute ? noChroot : this.#chroot;
  }
}

export interface PipelineOptions {
  readonly clock: Clock;
  readonly random: () => number;
  readonly traits: ServerTraits;
  /** The prefix of every path on the servers; '' for none. */
  readonly chroot: string;
  timeoutMs(): number;
  nextXid(): number;
}

export interface PipelineListener extends Pick<ConnectionListener, 'answered' | 'pinged' | 'watchFired' | 'roomMade'> {
  /** The server answered a request; `zxid` is its newest transaction, or 0 or -1 with an error. */
  heard(zxid: bigint, answeredAt: number): void;
  /** The server refuses this client's account. */
  refused(why: SaslRefusal): void;
  chunkRead(): void;
  ended(pipeline: Pipeline, error: Error | undefined): void;
}

function sentOf({ operation: { name }, bytes }: Call): SentRequest {
  return { name, bytes };
}

const nobody = (): void => {};

/** One for all writes. */
const resolved = Promise.resolve();

/** A server answers a ping by this number alone. */
const pingXid = -2;
const authXid = -4;
const watchXid = -1;

const eventTypes: Partial<Record<number, WatchEventType>> = { 1: 'created', 2: 'deleted', 3: 'changed', 4: 'children' };
