import type { CancelTimer } from '../../src/support/clock.ts';
import { Replica } from '../../packages/testing/src/tree/replica.ts';
import { ClientDesk } from './client-desk.ts';
import type { Lane } from '../virtual/lane.ts';
import { Leadership } from './leadership.ts';
import type { ServerEnd } from './member-connection.ts';
import type { Entry, FromFollower, FromLeader, Link, Request, ToPeer } from './messages.ts';
import type { Settings } from './settings.ts';

type Role =
  | { readonly at: 'down' }
  /** It looks for a leader, and serves no client. */
  | { readonly at: 'looking' }
  | { readonly at: 'following'; readonly link: Link }
  | { readonly at: 'leading'; readonly leadership: Leadership };

/** One server: its log, its copy of the data, and its part in the ensemble. */
export class Member {
  readonly id: number;
  replica: Replica;
  /** The sessions, with the timeouts that they were opened with. */
  readonly sessions = new Map<bigint, number>();
  /** As on the disk. */
  readonly log: Entry[] = [];
  /** The newest epoch that it has taken part in. */
  epoch = 0;
  role: Role = { at: 'looking' };
  /** To each other member, by its id. */
  readonly lanes = new Map<number, Lane>();
  readonly #settings: Settings;
  readonly #ensemble: MemberHost;
  readonly #desk: ClientDesk;
  #applied = 0;
  #heardAt = 0;
  #cancel: CancelTimer = () => undefined;

  constructor(id: number, settings: Settings, ensemble: MemberHost, secret: number) {
    this.id = id;
    this.#settings = settings;
    this.#ensemble = ensemble;
    this.replica = this.#emptyReplica();
    this.#desk = new ClientDesk(this, settings, secret);
  }

  /** The number of entries of its log that are in its tree. */
  get applied(): number {
    return this.#applied;
  }

  /** Returns false if the member is down. */
  accept(end: ServerEnd): boolean {
    if (this.role.at === 'down') return false;
    this.#desk.accept(end);
    return true;
  }

  lead(epoch: number): Leadership {
    this.#cancel();
    this.epoch = epoch;
    // Once a quorum follows the new leader, its whole log is committed.
    this.applyUntil(this.log.length - 1);
    const leadership = new Leadership(this, epoch, this.#settings);
    this.role = { at: 'leading', leadership };
    return leadership;
  }

  follow(leadership: Leadership): void {
    this.#cancel();
    const leader = leadership.member;
    this.epoch = leadership.epoch;
    this.#catchUp(leader);
    const link: Link = { leadership, follower: this, syncedUntilTick: 0 };
    this.role = { at: 'following', link };
    this.#heardAt = this.#settings.clock.now();
    this.#awaitLeader();
    leadership.join(link);
  }

  /** Ends its part as a leader or a follower, and looks for a leader. */
  stop(): void {
    this.#leave();
    this.#look();
  }

  crash(): void {
    this.#leave();
    this.#cancel();
    this.role = { at: 'down' };
  }

  /** Starts with the log and the data that it had. */
  restart(): void {
    if (this.role.at === 'down') this.#look();
  }

  /** Its disk is empty. */
  wipe(): void {
    this.replica = this.#emptyReplica();
    this.sessions.clear();
    this.log.length = 0;
    this.epoch = 0;
    this.#applied = 0;
  }

  receive({ link, to, message }: ToPeer): void {
    if (to === 'leader') {
      if (this.role.at === 'leading' && this.role.leadership === link.leadership)
        link.leadership.receive(link, message);
    } else if (this.role.at === 'following' && this.role.link === link) {
      this.#heardAt = this.#settings.clock.now();
      this.#fromLeader(message);
    }
    this.flush();
  }

  /** Called after the messages of one peer that arrive in one go. */
  arrived(): void {
    if (this.role.at === 'leading') this.role.leadership.prepare();
    this.flush();
  }

  /** To the leader: itself, or the one that it follows. */
  submit(request: Request): void {
    if (this.role.at === 'leading') this.role.leadership.submit(request);
    else this.#toLeader({ is: 'submit', request });
  }

  /** Asks the leader to extend a session that a client has named. `ClientDesk.validated` gets the answer. */
  validate(sessionId: bigint, timeoutMs: number): void {
    if (this.role.at === 'leading')
      this.#desk.validated(sessionId, this.role.leadership.validate(sessionId, timeoutMs, this.id));
    else this.#toLeader({ is: 'validate', sessionId, timeoutMs });
  }

  applyUntil(index: number): void {
    while (this.#applied <= index) {
      const entry = this.log[this.#applied];
      if (!entry) throw new Error(`Member ${this.id} has no entry ${this.#applied} in its log`);
      this.#applied += 1;
      this.#apply(entry);
    }
  }

  sendTo(peer: Member, message: ToPeer): void {
    this.lanes.get(peer.id)?.send(() => peer.receive(message));
  }

  throttle(sessionId: bigint, requests: number): void {
    this.#desk.throttle(sessionId, requests);
  }

  flush(): void {
    this.#desk.flush();
  }

  #emptyReplica(): Replica {
    return new Replica(this.#settings.maxBufferBytes, this.#settings.version);
  }

  #apply(entry: Entry): void {
    const { change } = entry.proposal;
    this.#ensemble.beforeApply(entry);
    this.#desk.apply(entry);
    if (change.is === 'openSession') this.sessions.set(change.sessionId, change.timeoutMs);
    if (change.is === 'closeSession') {
      this.sessions.delete(change.sessionId);
      if (this.role.at === 'leading') this.role.leadership.sessions.delete(change.sessionId);
    }
    this.#ensemble.applied(this, entry);
  }

  #fromLeader(message: FromLeader): void {
    switch (message.is) {
      case 'ping':
        this.#toLeader({ is: 'pong', touched: this.#desk.takeTouched() });
        return;
      case 'proposal':
        if (this.log[message.entry.index] !== message.entry) {
          if (this.log.length !== message.entry.index) throw new Error(`Member ${this.id} got a proposal out of order`);
          this.log.push(message.entry);
        }
        this.#toLeader({ is: 'ack', entry: message.entry });
        return;
      case 'commit':
        this.applyUntil(message.index);
        return;
      case 'synced':
        this.#desk.synced(message.request);
        return;
      case 'validated':
        this.#desk.validated(message.sessionId, message.isValid);
        return;
      case 'end':
        this.stop();
    }
  }

  /** Drops what the leader does not have, and applies all that the leader has committed. */
  #catchUp(leader: Member): void {
    let common = Math.min(this.log.length, leader.log.length);
    while (common > 0 && this.log[common - 1] !== leader.log[common - 1]) common -= 1;
    if (common < this.#applied) throw new Error(`Member ${this.id} has applied what was never committed`);
    this.log.length = common;
    for (let index = common; index < leader.applied; index += 1) {
      const entry = leader.log[index];
      if (entry) this.log.push(entry);
    }
    this.applyUntil(leader.applied - 1);
  }

  #leave(): void {
    if (this.role.at === 'leading') this.role.leadership.end();
    this.#toLeader({ is: 'end' });
    this.role = { at: 'looking' };
    this.#desk.closeAll();
  }

  #look(): void {
    this.#cancel();
    this.role = { at: 'looking' };
    this.#cancel = this.#settings.clock.after(this.#settings.electionMs(), () => {
      this.#ensemble.elect(this);
      if (this.role.at === 'looking') this.#look();
    });
  }

  /** A follower that hears nothing from its leader for `syncLimit` ticks gives it up. */
  #awaitLeader(): void {
    const { clock, syncLimit, tickTimeMs } = this.#settings;
    this.#cancel();
    const leftMs = this.#heardAt + syncLimit * tickTimeMs - clock.now();
    if (leftMs <= 0) this.stop();
    else this.#cancel = clock.after(leftMs, () => this.#awaitLeader());
  }

  #toLeader(message: FromFollower): void {
    if (this.role.at !== 'following') return;
    const { link } = this.role;
    this.sendTo(link.leadership.member, { link, to: 'leader', message });
  }
}

/** The ensemble that a member belongs to. */
export interface MemberHost {
  beforeApply(entry: Entry): void;
  applied(member: Member, entry: Entry): void;
  /** The member looks for a leader: it joins one, or becomes one, or goes on looking. */
  elect(member: Member): void;
}
