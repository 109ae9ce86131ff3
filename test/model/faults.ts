import type { Agenda, Due } from './agenda.ts';
import type { ClientModel } from './client-model.ts';
import type { EnsembleModel } from './ensemble-model.ts';
import type { Moment } from './messages.ts';
import type { Random } from '../../lab/random.ts';
import type { Fault } from './scenario.ts';
import type { ServerModel } from './server-model.ts';

/** Strikes at the worst places: the client's server and the newest leader at that time. */
export class Faults {
  readonly #agenda: Agenda;
  readonly #random: Random;
  readonly #ensemble: EnsembleModel;
  readonly #client: ClientModel;
  readonly #faults: readonly Fault[];
  readonly #due: Due;
  #next = 0;
  #awaited: Moment | undefined;
  #left = 0;

  constructor(agenda: Agenda, random: Random, ensemble: EnsembleModel, client: ClientModel) {
    this.#agenda = agenda;
    this.#random = random;
    this.#ensemble = ensemble;
    this.#client = client;
    this.#faults = ensemble.scenario.faults;
    this.#due = agenda.add(() => this.#isDue());
    ensemble.moment = (moment) => {
      if (moment !== this.#awaited) return;
      this.#left -= 1;
      if (this.#left === 0) this.#strike();
    };
    this.#await();
  }

  #await(): void {
    this.#awaited = undefined;
    const fault = this.#faults[this.#next];
    if (fault) this.#due.at = this.#agenda.now + fault.afterMs;
  }

  #isDue(): void {
    const fault = this.#faults[this.#next];
    this.#awaited = fault?.moment;
    this.#left = fault?.nth ?? 0;
    if (this.#awaited === undefined) this.#strike();
  }

  #strike(): void {
    const fault = this.#faults[this.#next];
    this.#next += 1;
    this.#await();
    if (fault) this.#do(fault);
  }

  #do({ kind, forMs }: Fault): void {
    const until = this.#agenda.now + forMs;
    const leader = this.#ensemble.leader.server;
    const own = this.#ensemble.server(this.#client.serverId);
    const other = this.#ensemble.server(leader.id + 1 + this.#random.whole(2));
    const follower = own === leader ? other : own;
    const others = this.#ensemble.servers.filter((server) => server !== leader);
    switch (kind) {
      case 'follower-to-leader':
        return cut(follower, leader, until);
      case 'leader-to-follower':
        return cut(leader, follower, until);
      case 'follower-cut-off':
        return this.#cutOff(follower, until);
      case 'leader-cut-off':
        return this.#cutOff(leader, until);
      case 'leader-unheard':
        for (const server of others) cut(leader, server, until);
        return;
      case 'leader-deaf':
        for (const server of others) cut(server, leader, until);
        return;
      case 'other-follower-cut-off':
        return this.#cutOff(this.#ensemble.server(3 - leader.id - follower.id), until);
      case 'leader-stalls':
        return this.#ensemble.stall(leader, until);
      case 'server-stalls':
        return this.#ensemble.stall(own, until);
      case 'leader-sleeps':
        // Delays only the thread that pings.
        leader.turn.at = Math.max(leader.turn.at, until);
        return;
      case 'follower-leaves':
        return follower.stopFollowing();
      case 'followers-leave':
        for (const server of others) server.stopFollowing();
        return;
      case 'client-unheard':
        return this.#ensemble.toServer[own.id]?.hold(until);
      case 'client-deaf':
        return this.#ensemble.toClient[own.id]?.hold(until);
      case 'client-stalls':
        return this.#client.stall(until);
      case 'client-moves':
        return this.#client.leave();
      case 'client-stranded':
        for (const server of this.#ensemble.servers)
          if (server !== own) this.#ensemble.toServer[server.id]?.hold(until);
        return;
      case 'slow':
        for (const lane of leader.lanes) lane.delayMs *= 10;
    }
  }

  #cutOff(server: ServerModel, until: number): void {
    for (const peer of this.#ensemble.servers) {
      cut(server, peer, until);
      cut(peer, server, until);
    }
  }
}

function cut(from: ServerModel, to: ServerModel, until: number): void {
  from.lanes[to.id]?.hold(until);
}
