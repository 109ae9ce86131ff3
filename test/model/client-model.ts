import type { ClockEvent } from '../../src/zookeeper/session/session-clock.ts';
import type { Agenda, Due } from './agenda.ts';
import type { EnsembleModel } from './ensemble-model.ts';
import type { Kind, ToClient } from './messages.ts';
import type { Random } from '../../lab/random.ts';
import type { Scenario } from './scenario.ts';
import { SessionShell } from './session-shell.ts';

type Use =
  | 'none'
  /** The lock is held by another client, whose release is the next event. */
  | 'waits'
  /** The create was sent, and its answer is outstanding or was lost. */
  | 'asks'
  /** The lock is free, and the session must be proven first. */
  | 'proves'
  | 'holds';

const heartbeats: Readonly<Record<Scenario['client']['heartbeat'], readonly Kind[]>> = {
  session: ['write', 'sync'],
  scheduled: ['write', 'sync'],
  write: ['write'],
  sync: ['sync'],
  none: [],
};

/** A session, and an application that uses it. */
export class ClientModel {
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #scenario: Scenario;
  readonly #session: SessionShell;
  readonly #use: Due;
  #ensemble: EnsembleModel | undefined;
  #serverId: number;
  #lock: Use = 'none';
  #provesAgainAt = -Infinity;
  /** How many grants there were, how many attaches before grants, and how many holds passed their deadline. */
  readonly holds = { granted: 0, afterAttach: 0, died: 0 };
  /** The parts of the timeout that were left at a grant without an attach. */
  readonly leftAtGrant: number[] = [];

  constructor(agenda: Agenda, random: Random, scenario: Scenario, tell: (event: ClockEvent) => void) {
    this.#agenda = agenda;
    this.#random = random;
    this.#scenario = scenario;
    this.#serverId = scenario.client.startsAt;
    const { timeoutMs, client } = scenario;
    this.#session = new SessionShell({
      agenda,
      rate: client.rate,
      tickTimeMs: scenario.tickTimeMs,
      attemptMs: timeoutMs / 3,
      heartbeat: heartbeats[client.heartbeat],
      silenceMs: this.#isScheduled ? undefined : client.silenceMs,
      hasZnodes: () => random.chance(0.5),
      send: (message) => {
        this.#ensemble?.toServer[this.#serverId]?.send(message);
        if (message.is === 'request' && message.request.kind === 'write') this.#ensemble?.moment('sent');
      },
      moveOn: () => {
        this.#serverId = random.whole(3);
        return random.between(0, timeoutMs / 20);
      },
      tell: (event) => {
        tell(event);
        if (event.is === 'granted') this.#ensemble?.moment('connected');
      },
      answered: (kind) => this.#answered(kind),
    });
    if (!this.#isScheduled) this.#session.keepProven();
    this.#use = agenda.add(() => this.#useIt());
  }

  get isEnded(): boolean {
    return this.#session.isEnded;
  }

  get serverId(): number {
    return this.#serverId;
  }

  /** Milliseconds of its own monotonic clock. */
  get time(): number {
    return this.#session.time;
  }

  start(ensemble: EnsembleModel): void {
    this.#ensemble = ensemble;
    this.#use.at = this.#random.between(0, 2) * this.#scenario.client.pauseMs;
    // A client that has not received the answer to the creation of its session has no session to resume, and no
    // deadline.
    const server = ensemble.server(this.#serverId);
    server.welcome(0);
    this.#session.start(this.time - this.#random.between(1, 100), server.grantMs);
  }

  receive(message: ToClient): void {
    this.#session.receive(message);
  }

  leave(): void {
    this.#session.leave();
  }

  /**
   * Its process is stopped: neither its timers run nor the code that reads its socket. Afterwards the socket comes
   * first.
   */
  stall(until: number): void {
    for (const due of [...this.#session.dues, this.#use]) due.at = Math.max(due.at, until);
    for (const lane of this.#ensemble?.toClient ?? []) lane.hold(until);
  }

  get #isScheduled(): boolean {
    return this.#scenario.client.heartbeat === 'scheduled';
  }

  #answered(kind: Kind): void {
    if (this.#isScheduled) {
      this.#lookAtLock();
      return;
    }
    if (this.#random.chance(this.#scenario.client.chain)) this.#sendAny();
    if (kind !== 'read') this.#ensemble?.moment(kind === 'write' ? 'answered-write' : 'answered-sync');
  }

  #useIt(): void {
    if (this.#isScheduled) {
      this.#useLock();
      return;
    }
    this.#sendAny();
    this.#use.at = this.#agenda.now + this.#random.between(0, 2) * this.#scenario.client.pauseMs;
  }

  /** As src/internals/steps.ts and znode-queue.ts do it, for a lock that nobody else uses. */
  #useLock(): void {
    const { timeoutMs, client } = this.#scenario;
    const session = this.#session;
    this.#use.at = this.#agenda.now + timeoutMs / 24;
    if (this.#lock === 'holds') {
      this.#endHold();
      this.#use.at = this.#agenda.now + this.#random.between(0, 2) * client.pauseMs;
    } else if (this.#lock === 'none' && this.#random.chance(0.4)) {
      this.#lock = 'waits';
      this.#prepare(() => session.keepProven());
      this.#use.at = this.#agenda.now + this.#random.between(0, 0.8) * timeoutMs;
    } else if (this.#lock === 'waits') {
      session.needNoMore();
      this.#lock = 'proves';
      this.#lookAtLock();
    } else if (!session.isConnected || session.isAttaching) {
      // Tries again, as after a lost answer.
    } else if (this.#lock === 'none' || this.#lock === 'asks') {
      this.#lock = 'asks';
      if (session.needed === 'attach') this.#prepare(() => session.attach());
      else session.request('write');
    } else {
      this.#lookAtLock();
    }
  }

  #lookAtLock(): void {
    if (this.#lock === 'holds' && this.#isOverdue) this.#endHold();
    const session = this.#session;
    if (!session.isConnected || session.isAttaching) return;
    if (this.#lock === 'asks' && session.isIdle) this.#lock = 'proves';
    if (this.#lock !== 'proves') return;
    const needed = session.needed;
    const { timeoutMs } = this.#scenario;
    if (needed === 'attach' || (needed === 'write' && !session.isBeating && this.#agenda.now >= this.#provesAgainAt)) {
      this.#provesAgainAt = this.#agenda.now + timeoutMs / 24;
      this.#prepare(() => session.prove());
    }
    if (needed !== 'nothing') return;
    this.#lock = 'holds';
    this.holds.granted += 1;
    this.leftAtGrant.push((session.deadline - this.time) / timeoutMs);
    session.hold();
    this.#use.at = this.#agenda.now + this.#random.between(0, 2.5) * timeoutMs;
  }

  #prepare(step: () => void): void {
    const { isAttaching } = this.#session;
    step();
    if (!isAttaching && this.#session.isAttaching) this.holds.afterAttach += 1;
  }

  get #isOverdue(): boolean {
    return this.time >= this.#session.deadline;
  }

  #endHold(): void {
    if (this.#isOverdue) this.holds.died += 1;
    this.#lock = 'none';
    this.#session.release();
  }

  #sendAny(): void {
    if (!this.#session.isConnected) return;
    this.#session.request(this.#random.pick(this.#scenario.client.kinds));
  }
}
