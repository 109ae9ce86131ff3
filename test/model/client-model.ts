import type { ClockEvent } from '../../src/zookeeper/session-clock.ts';
import type { Agenda, Due } from './agenda.ts';
import type { EnsembleModel } from './ensemble-model.ts';
import type { Kind, Request, ToClient } from './messages.ts';
import type { Random } from '../../harness/random.ts';
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

/** The session, kept alive as src/client/session.ts does it, and an application that uses it. */
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

  constructor(agenda: Agenda, random: Random, scenario: Scenario, tell: (event: ClockEvent) => void) {
    this.#agenda = agenda;
    this.#random = random;
    this.#scenario = scenario;
    this.#tell = tell;
    this.#serverId = scenario.client.startsAt;
    this.#beat = agenda.add(() => this.#heartbeat());
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
    this.#heartbeat();
  }

  #answered(): void {
    const answer = this.#pending.shift();
    if (!answer) throw new Error('The model got an answer without a request');
    const { kind, sentAt, isHeartbeat } = answer;
    this.#tell({ is: 'answered', kind, sentAt, answeredAt: this.time });
    this.#watchSilence();
    if (isHeartbeat) {
      this.#beat.at = this.#agenda.now + this.#scenario.timeoutMs / heartbeatsPerTimeout / this.#scenario.client.rate;
      if (this.#scenario.client.heartbeat === 'session') this.#send('sync');
    }
    if (this.#random.chance(this.#scenario.client.chain)) this.#sendAny();
    if (kind !== 'read') this.#ensemble?.moment(kind === 'write' ? 'answered-write' : 'answered-sync');
  }

  #heartbeat(): void {
    const { heartbeat } = this.#scenario.client;
    if (heartbeat !== 'none' && this.#state.at === 'connected')
      this.#send(heartbeat === 'sync' ? 'sync' : 'write', true);
  }

  #useIt(): void {
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
    this.#turn.at = oldest ? Math.max(this.#agenda.now, (oldest.sentAt + silenceMs) / rate) : Infinity;
  }
}
