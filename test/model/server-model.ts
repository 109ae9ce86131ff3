import type { Due } from './agenda.ts';
import type { EnsembleModel } from './ensemble-model.ts';
import type { Lane } from './lane.ts';
import { LeaderModel } from './leader-model.ts';
import type { FromClient, FromFollower, FromLeader, Link, Proposal, Request, ToClient } from './messages.ts';

type Role =
  | { readonly at: 'looking' }
  | { readonly at: 'following'; readonly link: Link }
  | { readonly at: 'leading'; readonly term: LeaderModel };

/** The log on the disk: its length, and if it contains the end of the session. */
export interface Log {
  readonly epoch: number;
  readonly index: number;
  readonly isClosed: boolean;
}

type ToPeer =
  | { readonly link: Link; readonly to: 'follower'; readonly message: FromLeader }
  | { readonly link: Link; readonly to: 'leader'; readonly message: FromFollower };

export type PeerLane = Lane<ToPeer>;

/** One of the three servers: it serves the client, and looks for a leader, follows one, or leads. */
export class ServerModel {
  readonly id: number;
  readonly rate: number;
  readonly grantMs: number;
  readonly #ensemble: EnsembleModel;
  /** Indexed by the peer's id. */
  readonly lanes: PeerLane[] = [];
  /** Runs before every lane: a leader that wakes up expires sessions before it learns which clients were active. */
  readonly expiry: Due;
  /** The next turn of a leader, the read timeout of a follower, or the next try of a server that looks for a leader. */
  turn: Due = { at: Infinity, run: () => {} };
  role: Role = { at: 'looking' };
  log: Log = { epoch: 0, index: 0, isClosed: false };
  stalledUntil = 0;
  #connection = -1;
  #isValid = false;
  #queue: Request[] = [];
  /** The session's entry in LearnerSessionTracker's touch table. */
  #touchedMs = 0;
  #heardAt = 0;

  constructor(ensemble: EnsembleModel, id: number, rate: number, grantMs: number) {
    this.#ensemble = ensemble;
    this.id = id;
    this.rate = rate;
    this.grantMs = grantMs;
    this.expiry = ensemble.agenda.add(() => {
      if (this.role.at === 'leading') this.role.term.expire();
    });
  }

  /** The connection on which the session was created. */
  welcome(connection: number): void {
    this.#connection = connection;
    this.#isValid = true;
  }

  lead(epoch: number): LeaderModel {
    this.log = { epoch, index: this.log.index, isClosed: this.log.isClosed };
    const term = new LeaderModel(this.#ensemble, this, epoch);
    this.role = { at: 'leading', term };
    return term;
  }

  follow(leader: LeaderModel): void {
    const link: Link = { leader, follower: this, syncedUntilTick: 0 };
    this.role = { at: 'following', link };
    this.log = leader.server.log;
    this.#touchedMs = 0;
    this.#heardAt = this.#ensemble.now;
    this.turn.at = this.#readTimeoutAt();
    leader.join(link);
  }

  stopLeading(): void {
    if (this.role.at !== 'leading') return;
    this.role.term.end();
    this.expiry.at = Infinity;
    this.#look();
  }

  stopFollowing(): void {
    if (this.role.at !== 'following') return;
    this.#toLeader({ is: 'end' });
    this.#look();
  }

  takeTurn(): void {
    if (this.stalledUntil > this.#ensemble.now) this.turn.at = this.stalledUntil;
    else if (this.role.at === 'leading') this.role.term.turn();
    else if (this.role.at === 'looking') this.#ensemble.elect(this);
    else if (this.#ensemble.now >= this.#readTimeoutAt()) this.stopFollowing();
    else this.turn.at = this.#readTimeoutAt();
  }

  toFollower(link: Link, message: FromLeader): void {
    this.lanes[link.follower.id]?.send({ link, to: 'follower', message });
  }

  fromPeer({ link, to, message }: ToPeer): void {
    if (to === 'leader') {
      // Includes messages that a follower sent before it left: a deposed leader may commit with such an
      // acknowledgement.
      if (this.role.at === 'leading' && this.role.term === link.leader) link.leader.receive(link, message);
    } else if (this.role.at === 'following' && this.role.link === link) {
      this.#heardAt = this.#ensemble.now;
      this.#fromLeader(message);
    }
  }

  fromClient(message: FromClient): void {
    if (message.is === 'connect') this.#connect(message.connection);
    else if (message.is === 'request') this.#request(message.request);
    else if (message.connection === this.#connection) this.#connection = -1;
  }

  record({ index, request }: Proposal): void {
    this.log = { epoch: this.log.epoch, index, isClosed: this.log.isClosed || request === undefined };
  }

  apply({ request }: Proposal): void {
    if (request === undefined) this.#close();
    else this.done(request);
  }

  /** Answers in the order of the client's requests, as CommitProcessor does. */
  done(request: Request): void {
    // The leader and the followers share this object, but only the server of its connection may answer it.
    if (request.connection !== this.#connection) return;
    request.isDone = true;
    this.#answer();
  }

  #connect(connection: number): void {
    this.#connection = connection;
    this.#isValid = false;
    this.#queue = [];
    if (this.role.at === 'looking') this.#close();
    else if (this.role.at === 'leading') this.#validated(connection, this.role.term.touch(this.grantMs));
    else this.#toLeader({ is: 'validate', connection, timeoutMs: this.grantMs });
  }

  #validated(connection: number, isValid: boolean): void {
    if (connection !== this.#connection) return;
    this.#isValid = isValid;
    this.#toClient(isValid ? { is: 'connected', connection, timeoutMs: this.grantMs } : { is: 'expired', connection });
  }

  #request(request: Request): void {
    if (request.connection !== this.#connection || !this.#isValid) return;
    this.#queue.push(request);
    if (this.role.at === 'following') {
      this.#touchedMs = this.grantMs;
      if (request.kind !== 'read') this.#toLeader({ is: 'submit', request });
    } else if (this.role.at === 'leading') {
      this.role.term.touch(this.grantMs);
      if (request.kind !== 'read') this.role.term.submit(request);
    }
    if (request.kind === 'read') request.isDone = true;
    this.#answer();
  }

  #fromLeader(message: FromLeader): void {
    switch (message.is) {
      case 'ping':
        this.#toLeader({ is: 'pong', touchedMs: this.#touchedMs });
        this.#touchedMs = 0;
        return;
      case 'proposal':
        this.record(message.proposal);
        this.#toLeader({ is: 'ack', proposal: message.proposal });
        return;
      case 'commit':
        this.apply(message.proposal);
        this.#ensemble.moment('committed');
        return;
      case 'synced':
        this.done(message.request);
        return;
      case 'validated':
        this.#validated(message.connection, message.isValid);
        return;
      case 'end':
        this.stopFollowing();
    }
  }

  #answer(): void {
    while (this.#queue[0]?.isDone) {
      this.#queue.shift();
      this.#toClient({ is: 'answer', connection: this.#connection });
    }
  }

  #look(): void {
    this.role = { at: 'looking' };
    this.#touchedMs = 0;
    if (this.#connection >= 0) this.#close();
    this.turn.at = this.#ensemble.now + this.#ensemble.scenario.electionMs();
  }

  #close(): void {
    if (this.#connection >= 0) this.#toClient({ is: 'end', connection: this.#connection });
    this.#connection = -1;
  }

  #readTimeoutAt(): number {
    const { syncLimit, tickMs } = this.#ensemble.scenario;
    return this.#heardAt + (syncLimit * tickMs) / this.rate;
  }

  #toLeader(message: FromFollower): void {
    if (this.role.at !== 'following') return;
    const { link } = this.role;
    this.lanes[link.leader.server.id]?.send({ link, to: 'leader', message });
  }

  #toClient(message: ToClient): void {
    this.#ensemble.toClient[this.id]?.send(message);
  }
}
