import { type Life, newLife, type Owed } from '../../src/zookeeper/session/life.ts';
import { beforeGrant, type BeforeGrant } from '../../src/zookeeper/session/proof-schedule.ts';
import { deadlineOf, type ClockEvent } from '../../src/zookeeper/session/session-clock.ts';
import { step, type Fact, type Order } from '../../src/zookeeper/session/session-life.ts';
import type { SessionEnd } from '../../src/zookeeper/session/session-owner.ts';
import type { Agenda, Due } from './agenda.ts';
import type { FromClient, Kind, ToClient } from './messages.ts';
import { Outstanding, type Sent } from './outstanding.ts';

/**
 * Carries out the orders of `step` on the links of the model, as src/zookeeper/session/session-shell.ts and connection.ts do it
 * on sockets.
 */
export class SessionShell {
  readonly #options: SessionShellOptions;
  readonly #agenda: Agenda;
  /** The end of an attempt to connect; without a connection the next attempt. */
  readonly #dial: Due;
  /** The end of the time in which an attach waits for the answers. */
  readonly #drain: Due;
  readonly #tick: Due;
  readonly #silence: Due;
  /** After a stall, a silent connection is judged when its socket was read. */
  readonly #poll: Due;
  readonly #outstanding = new Outstanding();
  #link: Link = { at: 'none' };
  #connection = 0;
  #life: Life;
  /** The requests that were made while the session attaches anew. They are sent behind the first heartbeat. */
  #heldBack: Sent[] | undefined;

  constructor(options: SessionShellOptions) {
    const { agenda, tickTimeMs } = options;
    this.#options = options;
    this.#agenda = agenda;
    this.#life = newLife({ tickTimeMs, connectBy: -Infinity, hosts: 1, isResumed: false });
    this.#drain = agenda.add(() => this.#redial());
    this.#tick = agenda.add(() => this.#feed({ is: 'tick', hasZnodes: options.hasZnodes(), ...this.#owed }));
    this.#silence = agenda.add(() => this.leave());
    this.#dial = agenda.add(() => (this.#link.at === 'none' ? this.#connect() : this.leave()));
    this.#poll = agenda.add(() => this.#feed({ is: 'polled', ...this.#owed }));
  }

  get dues(): readonly Due[] {
    return [this.#dial, this.#drain, this.#tick, this.#silence, this.#poll];
  }

  get isEnded(): boolean {
    return this.#life.state.at === 'ended';
  }

  get isConnected(): boolean {
    return this.#life.state.at === 'connected';
  }

  get isAttaching(): boolean {
    return this.#heldBack !== undefined;
  }

  get isIdle(): boolean {
    return this.#outstanding.isEmpty;
  }

  /** True if a heartbeat is outstanding, or there is no connection. */
  get isBeating(): boolean {
    const { state } = this.#life;
    return state.at !== 'connected' || state.pulseAt === Infinity;
  }

  /** Milliseconds of its own monotonic clock. */
  get time(): number {
    return this.#agenda.now * this.#options.rate;
  }

  get deadline(): number {
    return deadlineOf(this.#life.proof);
  }

  get needed(): BeforeGrant {
    return beforeGrant(this.#life, this.#life.proof, this.time);
  }

  /** The session was created on the present connection. */
  start(sentAt: number, timeoutMs: number): void {
    this.#granted(sentAt, timeoutMs);
  }

  receive(message: ToClient): void {
    if (message.connection !== this.#connection || this.#link.at === 'none') return;
    switch (message.is) {
      case 'connected':
        if (this.#link.at === 'dialled') this.#granted(this.#link.sentAt, message.timeoutMs);
        return;
      case 'answer':
        return this.#answered();
      case 'expired':
        return this.#feed({ is: 'end', why: 'expired' });
      case 'end':
        return this.leave();
    }
  }

  /** Loses its connection, and tries the next server. */
  leave(): void {
    if (this.#link.at === 'none') return;
    this.#hangUp();
    this.#heldBack = undefined;
    this.#options.tell({ is: 'disconnected' });
    this.#feed({ is: 'cut' });
    this.#failOutstanding();
    if (!this.isEnded) this.#dial.at = this.#agenda.now + this.#options.moveOn();
  }

  /** As often as `release`. */
  hold(): void {
    this.#feed({ is: 'held', ...this.#owed });
  }

  release(): void {
    this.#feed({ is: 'freed' });
  }

  /** A waiter moves up: the next event may grant it. As often as `needNoMore`. */
  keepProven(): void {
    if (this.needed === 'attach') this.attach();
    this.#feed({ is: 'needed', ...this.#owed });
  }

  needNoMore(): void {
    this.#feed({ is: 'needed-no-more' });
  }

  prove(): void {
    if (this.needed === 'attach' && this.isConnected) this.attach();
    else this.#feed({ is: 'proof-wanted' });
  }

  attach(): void {
    this.#feed({ is: 'attach-wanted' });
  }

  request(kind: Kind): void {
    this.#request({ kind, is: 'other' });
  }

  get #owed(): Owed {
    return { owedSince: this.#outstanding.since };
  }

  #feed(fact: Fact): void {
    const { life, orders } = step(this.#life, fact, this.time);
    this.#life = life;
    // After a stall, an answer may come before the tick that is late.
    this.#tick.at = Math.max(this.#agenda.now, this.#trueTime(life.wakeAt));
    for (const order of orders) this.#carryOut(order);
  }

  /** Not a rounding error before the time of its own clock, as in `Clock`. */
  #trueTime(time: number): number {
    const at = time / this.#options.rate;
    return at * this.#options.rate < time ? at * (1 + 2 * Number.EPSILON) : at;
  }

  #carryOut(order: Order): void {
    const [kind] = this.#options.heartbeat;
    switch (order.do) {
      case 'prove':
        if (kind) this.#request({ kind, is: order.as });
        return this.#feed({ is: 'sent', ...this.#owed });
      case 'ping':
        if (!this.#heldBack && !this.#outstanding.hasPing) this.#send({ kind: 'read', is: 'ping' });
        return this.#feed({ is: 'sent', ...this.#owed });
      case 'sync':
        this.request('sync');
        return this.#feed({ is: 'sent', ...this.#owed });
      case 'attach':
        this.#heldBack = [];
        this.#drain.at = this.#agenda.now + order.drainMs / this.#options.rate;
        this.#redialIfDrained();
        return this.#feed({ is: 'sent', ...this.#owed });
      case 'resume':
        return this.#feed({ is: 'resumed' });
      case 'poll':
        this.#poll.at = this.#agenda.now;
        return;
      case 'drop':
        return this.leave();
      case 'end':
        this.#hangUp();
        this.#outstanding.fail();
        return this.#options.ended?.(order.why);
      default:
    }
  }

  #connect(): void {
    this.#connection += 1;
    this.#link = { at: 'dialled', sentAt: this.time };
    this.#options.send({ is: 'connect', connection: this.#connection });
    this.#dial.at = this.#agenda.now + this.#options.attemptMs;
  }

  #granted(sentAt: number, timeoutMs: number): void {
    const heldBack = this.#heldBack ?? [];
    this.#heldBack = undefined;
    this.#link = { at: 'made' };
    this.#dial.at = Infinity;
    this.#options.tell({ is: 'granted', sentAt, timeoutMs });
    this.#feed({ is: 'granted', sentAt, timeoutMs });
    for (const sent of heldBack) this.#send(sent);
  }

  #answered(): void {
    const { kind, is, sentAt } = this.#outstanding.answered(this.time);
    const event = { is: 'answered', kind, sentAt, answeredAt: this.time } as const;
    this.#options.tell(event);
    this.#feed(is === 'ping' ? { is: 'ponged', sentAt } : event);
    this.#watchSilence();
    if (is === 'heartbeat') this.#feed({ is: 'beaten', isAnswered: true, epoch: this.#life.epoch, ...this.#owed });
    const [, kindBehind] = this.#options.heartbeat;
    if (kindBehind && (is === 'heartbeat' || is === 'extra')) {
      this.#request({ kind: kindBehind, is: 'other' });
      this.#feed({ is: 'sent', ...this.#owed });
    }
    this.#options.answered(kind);
    this.#redialIfDrained();
  }

  #redialIfDrained(): void {
    if (this.#link.at === 'made' && this.#outstanding.isDrained) this.#redial();
  }

  #redial(): void {
    if (!this.#heldBack) return;
    this.#hangUp();
    this.#failOutstanding();
    this.#connect();
  }

  #hangUp(): void {
    if (this.#link.at !== 'none') this.#options.send({ is: 'end', connection: this.#connection });
    this.#link = { at: 'none' };
    for (const due of [this.#dial, this.#drain, this.#silence]) due.at = Infinity;
  }

  #failOutstanding(): void {
    const isHeartbeatLost = this.#outstanding.hasHeartbeat;
    this.#outstanding.fail();
    if (isHeartbeatLost) this.#beatLost();
  }

  #beatLost(): void {
    this.#feed({ is: 'beaten', isAnswered: false, epoch: this.#life.epoch, ...this.#owed });
  }

  #request(sent: Sent): void {
    if (this.#heldBack) this.#heldBack.push(sent);
    else this.#send(sent);
  }

  #send(sent: Sent): void {
    if (this.#link.at !== 'made') {
      // The request fails at once.
      if (sent.is === 'heartbeat') this.#beatLost();
      return;
    }
    this.#outstanding.add(sent, this.time);
    this.#watchSilence();
    this.#options.send({ is: 'request', request: { connection: this.#connection, kind: sent.kind, isDone: false } });
  }

  #watchSilence(): void {
    const { silenceMs, rate } = this.#options;
    const { since } = this.#outstanding;
    if (silenceMs === undefined) return;
    this.#silence.at = since === undefined ? Infinity : Math.max(this.#agenda.now, (since + silenceMs) / rate);
  }
}

export interface SessionShellOptions {
  readonly agenda: Agenda;
  /** Milliseconds of its clock per true millisecond. */
  readonly rate: number;
  /** The value of the client's option. */
  readonly tickTimeMs: number | undefined;
  readonly attemptMs: number;
  /** As in prover.ts: a write, and a sync on its answer. Other heartbeats show what they do not prove. */
  readonly heartbeat: readonly Kind[];
  /** How long a request may be unanswered, if that is shorter than in life.ts. */
  readonly silenceMs: number | undefined;
  readonly hasZnodes: () => boolean;
  /** Sends to the present server. */
  readonly send: (message: FromClient) => void;
  /** Chooses the next server. Returns the milliseconds until the attempt. */
  readonly moveOn: () => number;
  readonly tell: (event: ClockEvent) => void;
  readonly answered: (kind: Kind) => void;
  readonly ended?: (why: SessionEnd) => void;
}

type Link =
  | { readonly at: 'none' }
  /** The ConnectRequest was sent. */
  | { readonly at: 'dialled'; readonly sentAt: number }
  | { readonly at: 'made' };
