import { ProofSchedule, silentAt, type BeforeGrant } from '../../src/zookeeper/proof-schedule.ts';
import { deadlineOf, learn, unproven, type ClockEvent } from '../../src/zookeeper/session-clock.ts';
import type { Agenda, Due } from './agenda.ts';
import type { FromClient, Kind, ToClient } from './messages.ts';
import { followers, Outstanding, type Sent } from './outstanding.ts';

/** Keeps one session alive as src/zookeeper/session.ts does it. `SessionTwins` compares the two. */
export class SessionModel {
  readonly #options: SessionModelOptions;
  readonly #agenda: Agenda;
  readonly #pulse: Due;
  /**
   * The end of the attempt, or the time at which a silent connection is given up; without a connection the next
   * attempt.
   */
  readonly #turn: Due;
  /** The end of the time in which an attach waits for the answers. */
  readonly #drain: Due;
  readonly #outstanding = new Outstanding();
  readonly #schedule = new ProofSchedule();
  #state: State = { at: 'apart' };
  #connection = 0;
  #proof = unproven;
  #answeredSentAt = -Infinity;
  #holds = 0;
  /** The requests that were made while the session attaches anew. They are sent behind the first heartbeat. */
  #heldBack: Sent[] | undefined;
  /** The first heartbeat after an attach is outstanding, or the sync behind it. */
  #hasJustAttached = false;

  constructor(options: SessionModelOptions) {
    this.#options = options;
    this.#agenda = options.agenda;
    this.#pulse = options.agenda.add(() => this.#isPulseDue());
    // After a stall, the drain comes first: a silent connection is judged when its socket was read.
    this.#drain = options.agenda.add(() => this.#redial());
    this.#turn = options.agenda.add(() => this.#takeTurn());
  }

  get dues(): readonly Due[] {
    return [this.#pulse, this.#turn, this.#drain];
  }

  get isEnded(): boolean {
    return this.#state.at === 'ended';
  }

  /** Also true while the session attaches anew. */
  get isConnected(): boolean {
    return this.#state.at === 'connected' || this.isAttaching;
  }

  get isAttaching(): boolean {
    return this.#heldBack !== undefined;
  }

  get isIdle(): boolean {
    return this.#outstanding.isEmpty;
  }

  /** True if a heartbeat is outstanding, or there is no connection. */
  get isBeating(): boolean {
    return this.#pulse.at === Infinity;
  }

  /** Milliseconds of its own monotonic clock. */
  get time(): number {
    return this.#agenda.now * this.#options.rate;
  }

  get deadline(): number {
    return deadlineOf(this.#proof);
  }

  /** The time at which it is presumed to be over if no server answers any more. */
  get endsAt(): number {
    return this.#holds > 0 ? this.deadline : this.#answeredSentAt + this.#proof.timeoutMs;
  }

  get needed(): BeforeGrant {
    return this.#schedule.beforeGrant(this.#proof, this.time);
  }

  /** The session was created on the present connection. */
  start(sentAt: number, timeoutMs: number): void {
    this.#connected(sentAt, timeoutMs);
  }

  receive(message: ToClient): void {
    if (message.connection !== this.#connection || this.#state.at === 'apart' || this.#state.at === 'ended') return;
    switch (message.is) {
      case 'connected':
        if (this.#state.at === 'connecting') this.#connected(this.#state.sentAt, message.timeoutMs);
        return;
      case 'answer':
        this.#answered();
        return;
      case 'expired':
        this.#heldBack = undefined;
        this.#rest({ at: 'ended' });
        return;
      case 'end':
        this.leave();
    }
  }

  /** Drops its connection, and tries the next server. */
  leave(): void {
    if (this.#state.at === 'apart' || this.#state.at === 'ended') return;
    this.#tell({ is: 'disconnected' });
    this.#options.send({ is: 'end', connection: this.#connection });
    this.#heldBack = undefined;
    this.#rest({ at: 'apart' });
    this.#turn.at = this.#agenda.now + this.#options.moveOn();
  }

  /** As often as `release`. */
  hold(): void {
    this.#holds += 1;
    this.#schedule.need();
    this.#activate();
  }

  release(): void {
    this.#holds -= 1;
    this.#schedule.needNoMore(this.time);
    this.#watchSilence();
  }

  /** A waiter moves up: the next event may grant it. As often as `needNoMore`. */
  keepProven(): void {
    if (this.needed === 'attach') this.attach();
    this.#schedule.need();
    this.#activate();
  }

  needNoMore(): void {
    this.#schedule.needNoMore(this.time);
  }

  prove(): void {
    if (this.needed === 'attach' && this.isConnected) this.attach();
    else if (this.#isActive) this.#request({ kind: 'write', is: 'proof' });
    else this.#heartbeat();
  }

  attach(): void {
    if (!this.isConnected || this.#heldBack || this.#hasJustAttached) return;
    this.#heldBack = [];
    this.#pulse.at = Infinity;
    this.#drain.at = this.#agenda.now + this.#proof.timeoutMs / 4 / this.#options.rate;
    this.#redialIfDrained();
  }

  request(kind: Kind): void {
    this.#request({ kind, is: 'other' });
  }

  #tell(event: ClockEvent): void {
    this.#proof = learn(this.#proof, event, this.#options.tickTimeMs);
    this.#options.tell(event);
  }

  #rest(state: State): void {
    this.#state = state;
    this.#hasJustAttached = false;
    this.#outstanding.fail();
    for (const due of this.dues) due.at = Infinity;
  }

  #connect(): void {
    this.#connection += 1;
    this.#state = { at: 'connecting', sentAt: this.time };
    this.#options.send({ is: 'connect', connection: this.#connection });
    this.#turn.at = this.#agenda.now + this.#options.attemptMs;
  }

  #connected(sentAt: number, timeoutMs: number): void {
    const heldBack = this.#heldBack;
    this.#heldBack = undefined;
    this.#state = { at: 'connected' };
    this.#turn.at = Infinity;
    this.#answeredSentAt = sentAt;
    this.#tell({ is: 'granted', sentAt, timeoutMs });
    this.#pulseAfter();
    this.#hasJustAttached = heldBack !== undefined;
    if (heldBack || this.deadline === -Infinity || this.#isActive) this.#heartbeat(heldBack && 'attach');
    else this.#ping();
    for (const sent of heldBack ?? []) this.#request(sent);
  }

  get #isActive(): boolean {
    return this.#schedule.isActive(this.time, this.#proof.timeoutMs);
  }

  #answered(): void {
    const { kind, is, sentAt } = this.#outstanding.answered(this.time);
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
    this.#tell({ is: 'answered', kind, sentAt, answeredAt: this.time });
    this.#watchSilence();
    if (is === 'heartbeat' || is === 'attach') {
      this.#schedule.beat(this.time);
      this.#pulseAfter();
    }
    const [, kindBehind] = this.#options.heartbeat;
    const behind = followers[is];
    if (kindBehind && behind) this.#request({ kind: kindBehind, is: behind });
    if (is === 'attached') this.#hasJustAttached = false;
    this.#options.answered(kind);
    this.#redialIfDrained();
  }

  #heartbeat(is: 'heartbeat' | 'attach' = 'heartbeat'): void {
    this.#schedule.beat(this.time);
    this.#pulse.at = Infinity;
    const [kind] = this.#options.heartbeat;
    if (kind) this.#request({ kind, is });
  }

  #isPulseDue(): void {
    if (this.#isActive) {
      this.#heartbeat();
      return;
    }
    this.#pulseAfter();
    if (this.#options.hasZnodes()) this.request('sync');
    else this.#ping();
  }

  #pulseAfter(): void {
    this.#pulse.at = this.#schedule.pulseAfter(this.time, this.#proof.timeoutMs) / this.#options.rate;
  }

  /** The first heartbeat of a session that becomes active. */
  #activate(): void {
    const firstAt = this.#schedule.firstBeatAt(this.time, this.#proof.timeoutMs) / this.#options.rate;
    if (!this.isBeating) this.#pulse.at = Math.min(this.#pulse.at, firstAt);
    this.#watchSilence();
  }

  #redialIfDrained(): void {
    if (this.#state.at === 'connected' && this.#outstanding.isDrained) this.#redial();
  }

  #redial(): void {
    if (!this.#heldBack) return;
    const isHeartbeatLost = this.#outstanding.hasHeartbeat;
    const pulseAt = this.#pulse.at;
    this.#options.send({ is: 'end', connection: this.#connection });
    this.#rest({ at: 'apart' });
    this.#connect();
    this.#pulse.at = pulseAt;
    if (isHeartbeatLost) this.#pulseAfter();
  }

  #takeTurn(): void {
    if (this.#state.at === 'apart') this.#connect();
    else this.leave();
  }

  #request(sent: Sent): void {
    if (this.#heldBack) this.#heldBack.push(sent);
    else this.#send(sent);
  }

  #ping(): void {
    if (!this.#heldBack && !this.#outstanding.hasPing) this.#send({ kind: 'read', is: 'ping' });
  }

  #send(sent: Sent): void {
    if (this.#state.at !== 'connected') return;
    this.#outstanding.add(sent, this.time);
    this.#watchSilence();
    const request = { connection: this.#connection, kind: sent.kind, isDone: false };
    this.#options.send({ is: 'request', request });
  }

  #watchSilence(): void {
    if (this.#state.at !== 'connected') return;
    const { rate, silenceMs } = this.#options;
    const unansweredSince = this.#outstanding.since;
    if (unansweredSince === undefined) {
      this.#turn.at = Infinity;
      return;
    }
    const silence = { unansweredSince, answeredSentAt: this.#answeredSentAt, isUrgent: this.#holds > 0 };
    const until = silenceMs === undefined ? silentAt(silence, this.#proof.timeoutMs) : unansweredSince + silenceMs;
    this.#turn.at = Math.max(this.#agenda.now, until / rate);
  }
}

export interface SessionModelOptions {
  readonly agenda: Agenda;
  /** Milliseconds of its clock per true millisecond. */
  readonly rate: number;
  /** The value of the client's option. */
  readonly tickTimeMs: number | undefined;
  readonly attemptMs: number;
  /** As in session.ts: a write, and a sync on its answer. Other heartbeats show what they do not prove. */
  readonly heartbeat: readonly Kind[];
  /** How long a request may be unanswered; undefined: as in session.ts. */
  readonly silenceMs: number | undefined;
  readonly hasZnodes: () => boolean;
  /** Sends to the present server. */
  readonly send: (message: FromClient) => void;
  /** Chooses the next server. Returns the milliseconds until the attempt. */
  readonly moveOn: () => number;
  readonly tell: (event: ClockEvent) => void;
  readonly answered: (kind: Kind) => void;
}

type State =
  | { readonly at: 'apart' }
  | { readonly at: 'connecting'; readonly sentAt: number }
  | { readonly at: 'connected' }
  /** A server said that the session has expired. */
  | { readonly at: 'ended' };
