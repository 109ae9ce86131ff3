import type { Agenda } from './agenda.ts';
import { Lane } from './lane.ts';
import type { LeaderModel } from './leader-model.ts';
import type { FromClient, Moment, ToClient } from './messages.ts';
import type { Random } from '../../lab/random.ts';
import type { Scenario } from './scenario.ts';
import { ServerModel } from './server-model.ts';

/** The ensemble reports the end of the session to it. */
export interface SessionWitness {
  /** The newest leader has decided that the session is over. Other servers may learn of it once that is committed. */
  decided(): void;
  closed(): void;
  /** A leader took over that does not know of any decision. */
  revived(): void;
}

/** Three servers of ZooKeeper and one session, which exists from time 0 on. */
export class EnsembleModel {
  readonly agenda: Agenda;
  readonly scenario: Scenario;
  readonly servers: readonly ServerModel[];
  readonly toServer: Lane<FromClient>[] = [];
  readonly toClient: Lane<ToClient>[] = [];
  /** The epoch of the newest leader. */
  epoch = 0;
  leader: LeaderModel;
  /** The number of syncs that a leader answered after another one had taken over. */
  syncsOfDeposed = 0;
  moment: (moment: Moment) => void = () => {};
  readonly #witness: SessionWitness;
  #isClosed = false;

  constructor(
    agenda: Agenda,
    random: Random,
    scenario: Scenario,
    witness: SessionWitness,
    receive: (message: ToClient) => void,
  ) {
    this.agenda = agenda;
    this.scenario = scenario;
    this.#witness = witness;
    this.servers = scenario.servers.map(({ rate, grantMs }, id) => new ServerModel(this, id, rate, grantMs));
    for (const server of this.servers) {
      for (const peer of this.servers)
        server.lanes.push(new Lane(agenda, random, scenario.delayMs(), (message) => peer.fromPeer(message)));
      this.toServer.push(new Lane(agenda, random, scenario.delayMs(), (message) => server.fromClient(message)));
      this.toClient.push(new Lane(agenda, random, scenario.delayMs(), receive));
    }
    for (const server of this.servers) server.turn = agenda.add(() => server.takeTurn());
    this.leader = this.#takeOver(this.server(0), this.server(1));
    this.server(2).follow(this.leader);
  }

  get now(): number {
    return this.agenda.now;
  }

  server(id: number): ServerModel {
    const server = this.servers[id % this.servers.length];
    if (!server) throw new Error(`no server ${id}`);
    return server;
  }

  /**
   * A server without a leader joins the newest one, if that still leads a quorum. Otherwise it elects one together with
   * another server that looks for a leader.
   */
  elect(server: ServerModel): void {
    const peers = this.servers.filter((peer) => peer !== server && this.#areConnected(server, peer));
    const leading = peers.find(
      ({ role, log }) =>
        role.at === 'leading' && log.epoch >= server.log.epoch && this.#hasQuorumBeside(role.term, server),
    );
    const looking = peers.find(({ role }) => role.at === 'looking');
    if (leading?.role.at === 'leading') server.follow(leading.role.term);
    else if (looking)
      this.leader = isNewer(server, looking) ? this.#takeOver(server, looking) : this.#takeOver(looking, server);
    else server.turn.at = this.now + this.scenario.electionMs();
  }

  /** Stops the server: none of its code runs, and nothing reaches it. */
  stall(server: ServerModel, until: number): void {
    server.stalledUntil = Math.max(server.stalledUntil, until);
    server.expiry.at = Math.max(server.expiry.at, until);
    server.turn.at = Math.max(server.turn.at, until);
    for (const peer of this.servers) peer.lanes[server.id]?.hold(until);
    this.toServer[server.id]?.hold(until);
  }

  decided(leader: LeaderModel): void {
    if (!leader.isDeposed) this.#witness.decided();
  }

  closed(): void {
    this.#isClosed = true;
    this.#witness.closed();
  }

  #takeOver(server: ServerModel, follower: ServerModel): LeaderModel {
    this.epoch += 1;
    if (this.#isClosed && !server.log.isClosed) throw new Error('the model lost a committed transaction');
    const leader = server.lead(this.epoch);
    follower.follow(leader);
    if (server.log.isClosed) this.closed();
    else this.#witness.revived();
    return leader;
  }

  #areConnected(one: ServerModel, other: ServerModel): boolean {
    return other.stalledUntil <= this.now && !one.lanes[other.id]?.isHeld && !other.lanes[one.id]?.isHeld;
  }

  #hasQuorumBeside(leader: LeaderModel, server: ServerModel): boolean {
    return this.servers.some(
      ({ id, role }) => id !== server.id && role.at === 'following' && role.link.leader === leader,
    );
  }
}

function isNewer({ log: one }: ServerModel, { log: other }: ServerModel): boolean {
  return one.epoch > other.epoch || (one.epoch === other.epoch && one.index >= other.index);
}
