import { ProofSchedule, silentAt } from '../../src/zookeeper/proof-schedule.ts';
import { deadlineOf, learn, unproven, type ClockEvent } from '../../src/zookeeper/session-clock.ts';
import type { Agenda, Due } from './agenda.ts';
import type { EnsembleModel } from './ensemble-model.ts';
import type { Kind, Request, ToClient } from './messages.ts';
import type { Random } from '../../lab/random.ts';
import type { Scenario } from './scenario.ts';

type State =
  | { readonly at: 'apart' }
  | { readonly at: 'connecting'; readonly sentAt: number }
  | { readonly at: 'connected' }
  /** A server said that the session has expired. */
  | { readonly at: 'ended' };

interface Pending {
  readonly kind: Kind;
  readonly sentAt: number;
  readonly isHeartbeat: boolean;
}

const heartbeatsPerTimeout = 6;

type Use =
  | 'none'
  /** The lock is held by another client, whose release is the next event. */
  | 'waits'
  /** The create was sent, and its answer is outstanding or was lost. */
  | 'asks'
  /** The lock is free, and the session must be proven first. */
  | 'proves'
  | 'holds';

/** The session, kept alive as src/zookeeper/session.ts does it, and an application that uses it. */
export class ClientModel {
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #tell: (event: ClockEvent) => void;
  readonly #beat: Due;
  readonly #use: Due;
  /**
   * The end of the attempt or of the deadline while there is a connection or one under way; otherwise the next attempt.
   */
  readonly #turn: Due;
  readonly #pending: Pending[] = [];
  #ensemble: EnsembleModel | undefined;
  #state: State = { at: 'apart' };
  #connection = 0;
  #serverId: number;
  readonly #schedule = new ProofSchedule();
  #proof = unproven;
  #answeredSentAt = -Infinity;
  #lock: Use = 'none';
  /** The client attaches anew: it waits for the answers first, and then connects to the same server. */
  #isAttaching = false;
  /** How many grants there were, how many of them needed an attach, and how many holds passed their deadline. */
  readonly holds = { granted: 0, afterAttach: 0, died: 0 };
  /** The parts of the timeout that were left at a grant without an attach. */
  readonly leftAtGrant: number[] = [];

  constructor(agenda: Agenda, random: Random, scenario: Scenario, tell: (event: ClockEvent) => void) {
    this.#agenda = agenda;
    this.#random = random;
    this.#scenario = scenario;
    this.#tell = (event) => {
      this.#proof = learn(this.#proof, event, scenario.tickTimeMs);
      tell(event);
    };
    this.#serverId = scenario.client.startsAt;
    this.#beat = agenda.add(() => this.#pulse());
    this.#use = agenda.add(() => this.#useIt());
    this.#turn = agenda.add(() => this.#takeTurn());
  }

  get isEnded(): boolean {
    return this.#state.at === 'ended';
  }

  get serverId(): number {
    return this.#serverId;
  }

  /** Milliseconds of its own monotonic clock. */
  get time(): number {
    return this.#agenda.now * this.#scenario.client.rate;
  }

  start(ensemble: EnsembleModel): void {
    this.#ensemble = ensemble;
    this.#use.at = this.#random.between(0, 2) * this.#scenario.client.pauseMs;
    // A client that has not received the answer to the creation of its session has no session to resume, and no
    // deadline.
    const server = ensemble.server(this.#serverId);
    server.welcome(this.#connection);
    this.#connected(this.time - this.#random.between(1, 100), server.grantMs);
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
    this.#ensemble?.toServer[this.#serverId]?.send({ is: 'end', connection: this.#connection });
    this.#rest({ at: 'apart' });
    this.#isAttaching = false;
    this.#serverId = this.#random.whole(3);
    this.#turn.at = this.#agenda.now + this.#random.between(0, this.#scenario.timeoutMs / 20);
  }

  /**
   * Its process is stopped: neither its timers run nor the code that reads its socket. Afterwards the socket comes
   * first.
   */
  stall(until: number): void {
    for (const due of [this.#beat, this.#use, this.#turn]) due.at = Math.max(due.at, until);
    for (const lane of this.#ensemble?.toClient ?? []) lane.hold(until);
  }

  #rest(state: State): void {
    this.#state = state;
    this.#pending.length = 0;
    this.#beat.at = Infinity;
    this.#turn.at = Infinity;
  }

  #connect(): void {
    this.#connection += 1;
    this.#state = { at: 'connecting', sentAt: this.time };
    this.#ensemble?.toServer[this.#serverId]?.send({ is: 'connect', connection: this.#connection });
    this.#turn.at = this.#agenda.now + this.#scenario.timeoutMs / 3;
  }

  #connected(sentAt: number, timeoutMs: number): void {
    this.#state = { at: 'connected' };
    this.#turn.at = Infinity;
    this.#tell({ is: 'granted', sentAt, timeoutMs });
    this.#ensemble?.moment('connected');
    this.#answeredSentAt = sentAt;
    const isQuiet = this.#isScheduled && this.#connection > 0 && !this.#isAttaching && !this.#isActive;
    this.#isAttaching = false;
    if (isQuiet) this.#pulseAfter();
    else this.#heartbeat();
  }

  get #isScheduled(): boolean {
    return this.#scenario.client.heartbeat === 'scheduled';
  }

  get #isActive(): boolean {
    return this.#schedule.isActive(this.time, this.#proof.timeoutMs);
  }

  #answered(): void {
    const answer = this.#pending.shift();
    if (!answer) throw new Error('The model got an answer without a request');
    const { kind, sentAt, isHeartbeat } = answer;
    this.#tell({ is: 'answered', kind, sentAt, answeredAt: this.time });
    this.#answeredSentAt = Math.max(this.#answeredSentAt, sentAt);
    this.#watchSilence();
    if (this.#isScheduled) {
      if (isHeartbeat) {
        this.#schedule.beat(this.time);
        this.#pulseAfter();
        this.#send('sync');
      }
      this.#lookAtLock();
      if (this.#isAttaching && this.#pending.length === 0) this.#attach();
      return;
    }
    if (isHeartbeat) {
      this.#beat.at = this.#agenda.now + this.#scenario.timeoutMs / heartbeatsPerTimeout / this.#scenario.client.rate;
      if (this.#scenario.client.heartbeat === 'session') this.#send('sync');
    }
    if (this.#random.chance(this.#scenario.client.chain)) this.#sendAny();
    if (kind !== 'read') this.#ensemble?.moment(kind === 'write' ? 'answered-write' : 'answered-sync');
  }

  #heartbeat(): void {
    const { heartbeat } = this.#scenario.client;
    if (this.#isScheduled) {
      this.#schedule.beat(this.time);
      this.#beat.at = Infinity;
    }
    if (heartbeat !== 'none' && this.#state.at === 'connected')
      this.#send(heartbeat === 'sync' ? 'sync' : 'write', true);
  }

  #pulse(): void {
    if (this.#state.at !== 'connected') return;
    if (!this.#isScheduled || this.#isActive) {
      this.#heartbeat();
    } else {
      this.#pulseAfter();
      this.#send(this.#random.pick(['read', 'sync']));
    }
  }

  #pulseAfter(): void {
    this.#beat.at = this.#schedule.pulseAfter(this.time, this.#proof.timeoutMs) / this.#scenario.client.rate;
  }

  /** As src/internals/attempt.ts and znode-queue.ts do it, for a lock that nobody else uses. */
  #useLock(): void {
    const { timeoutMs, client } = this.#scenario;
    this.#use.at = this.#agenda.now + timeoutMs / 24;
    if (this.#lock === 'holds') {
      this.#checkHold();
      this.#lock = 'none';
      this.#schedule.needNoMore(this.time);
      this.#use.at = this.#agenda.now + this.#random.between(0, 2) * client.pauseMs;
    } else if (this.#lock === 'none' && this.#random.chance(0.4)) {
      this.#becomeNext();
    } else if (this.#lock === 'waits') {
      this.#schedule.needNoMore(this.time);
      this.#lock = 'proves';
      this.#lookAtLock();
    } else if (this.#state.at !== 'connected' || this.#isAttaching) {
      // Tries again, as after a lost answer.
    } else if (this.#lock === 'none' || this.#lock === 'asks') {
      this.#lock = 'asks';
      if (this.#needed === 'attach') this.#startAttach();
      else this.#send('write');
    } else {
      this.#lookAtLock();
    }
  }

  /** A waiter of a quiet session moves up. As `keepProven` in session.ts. */
  #becomeNext(): void {
    this.#lock = 'waits';
    if (this.#state.at === 'connected' && !this.#isAttaching && this.#needed === 'attach') this.#startAttach();
    this.#schedule.need();
    this.#beatSoon();
    this.#use.at = this.#agenda.now + this.#random.between(0, 0.8) * this.#scenario.timeoutMs;
  }

  /** The first heartbeat of a session that becomes active. */
  #beatSoon(): void {
    const { rate } = this.#scenario.client;
    if (this.#state.at === 'connected' && this.#beat.at < Infinity)
      this.#beat.at = Math.min(this.#beat.at, this.#schedule.firstBeatAt(this.time, this.#proof.timeoutMs) / rate);
  }

  get #needed(): ReturnType<ProofSchedule['beforeGrant']> {
    return this.#schedule.beforeGrant(this.#proof, this.time);
  }

  #checkHold(): void {
    if (this.#lock !== 'holds' || this.time < deadlineOf(this.#proof)) return;
    this.holds.died += 1;
    this.#lock = 'none';
    this.#schedule.needNoMore(this.time);
  }

  #lookAtLock(): void {
    this.#checkHold();
    if (this.#state.at !== 'connected' || this.#isAttaching) return;
    if (this.#lock === 'asks' && this.#pending.length === 0) this.#lock = 'proves';
    if (this.#lock !== 'proves') return;
    const needed = this.#needed;
    if (needed === 'attach') this.#startAttach();
    if (needed === 'write' && this.#beat.at < Infinity) this.#send('write');
    if (needed !== 'nothing') return;
    const { timeoutMs } = this.#scenario;
    this.#lock = 'holds';
    this.holds.granted += 1;
    this.leftAtGrant.push((deadlineOf(this.#proof) - this.time) / timeoutMs);
    this.#schedule.need();
    this.#beatSoon();
    this.#use.at = this.#agenda.now + this.#random.between(0, 2.5) * timeoutMs;
  }

  #startAttach(): void {
    this.holds.afterAttach += 1;
    this.#isAttaching = true;
    if (this.#pending.length === 0) this.#attach();
  }

  #attach(): void {
    this.#tell({ is: 'disconnected' });
    this.#ensemble?.toServer[this.#serverId]?.send({ is: 'end', connection: this.#connection });
    this.#rest({ at: 'apart' });
    this.#connect();
  }

  #useIt(): void {
    if (this.#isScheduled) {
      this.#useLock();
      return;
    }
    if (this.#state.at === 'connected') this.#sendAny();
    this.#use.at = this.#agenda.now + this.#random.between(0, 2) * this.#scenario.client.pauseMs;
  }

  #takeTurn(): void {
    if (this.#state.at === 'apart') this.#connect();
    else this.leave();
  }

  #sendAny(): void {
    this.#send(this.#random.pick(this.#scenario.client.kinds));
  }

  #send(kind: Kind, isHeartbeat = false): void {
    if (this.#state.at !== 'connected') return;
    const request: Request = { connection: this.#connection, kind, isDone: false };
    this.#pending.push({ kind, sentAt: this.time, isHeartbeat });
    if (this.#pending.length === 1) this.#watchSilence();
    this.#ensemble?.toServer[this.#serverId]?.send({ is: 'request', request });
    if (kind === 'write') this.#ensemble?.moment('sent');
  }

  #watchSilence(): void {
    const oldest = this.#pending[0];
    const { rate, silenceMs } = this.#scenario.client;
    if (!oldest) {
      this.#turn.at = Infinity;
      return;
    }
    const silence = { unansweredSince: oldest.sentAt, answeredSentAt: this.#answeredSentAt };
    const until = this.#isScheduled
      ? silentAt({ ...silence, isUrgent: this.#lock === 'holds' }, this.#proof.timeoutMs)
      : oldest.sentAt + silenceMs;
    this.#turn.at = Math.max(this.#agenda.now, until / rate);
  }
}
