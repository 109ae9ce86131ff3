import { serverMode } from './four-letter-word.ts';
import { cutLinks, ensureFirewall, type Cut, type Link } from '../proxy/firewall.ts';
import { until } from '../until.ts';
import { startRealEnsemble, type Ensemble } from './zookeeper-ensemble.ts';
import type { ZooKeeperServer } from './zookeeper-server.ts';
import { connectionsOf } from '../proxy/tcp-connections.ts';

/** The leader, and the two followers. */
export type Roles = readonly [ZooKeeperServer, ZooKeeperServer, ZooKeeperServer];

export const tickTimeMs = 500;

/** Thirty seconds: a follower that is cut off then answers its clients for much longer than their sessions live. */
const syncLimit = 60;

/**
 * A leader whose followers elected again while it waited for them gives up after `initLimit`: 40 s with ZooKeeper's
 * usual tick. The next election takes a moment.
 */
const electionLimitMs = 60_000;

/** An ensemble of three servers, and the faults between them. */
export class Trio implements AsyncDisposable {
  readonly #ensemble: Ensemble;
  readonly #cuts = new Map<ZooKeeperServer, Cut>();

  static async start(options = { tickTimeMs, syncLimit }): Promise<Trio> {
    await ensureFirewall();
    const trio = new Trio(
      await startRealEnsemble(3, { tickTimeMs: options.tickTimeMs, config: { syncLimit: options.syncLimit } }),
    );
    await trio.whole();
    return trio;
  }

  private constructor(ensemble: Ensemble) {
    this.#ensemble = ensemble;
  }

  get servers(): readonly ZooKeeperServer[] {
    return this.#ensemble.servers;
  }

  get connectString(): string {
    return this.#ensemble.connectString;
  }

  /** Resolves with the roles when one server leads and two follow. */
  async whole(): Promise<Roles> {
    let roles: readonly ZooKeeperServer[] = [];
    const look = async (): Promise<boolean> => {
      const modes = await Promise.all(this.servers.map((server) => serverMode('127.0.0.1', server.port)));
      const leaders = this.servers.filter((_, index) => modes[index] === 'leader');
      const followers = this.servers.filter((_, index) => modes[index] === 'follower');
      roles = [...leaders, ...followers];
      return leaders.length === 1 && followers.length === 2;
    };
    await until('one server leads and two follow', look, electionLimitMs);
    return roles as Roles;
  }

  /**
   * Cuts the link between the leader and one follower. Both still serve their clients, and both reach the other
   * follower.
   */
  async cutFollowerOff([leader, ...followers]: Roles, follower: ZooKeeperServer): Promise<Cut> {
    const { quorum } = await portsOf(leader);
    const other = followers.find((server) => server !== follower) ?? follower;
    const exceptPeer = connectionsOf(other.pid).find(({ remotePort }) => remotePort === quorum)?.localPort;
    if (exceptPeer === undefined) throw new Error(`${other.connectString} has no connection to the leader`);
    return this.#cut(follower, [{ port: quorum, exceptPeer }]);
  }

  /**
   * Cuts the leader off from both followers. The followers notice it with their next message and elect another leader;
   * the old leader waits for them and serves its clients.
   */
  async cutLeaderOff([leader, ...followers]: Roles): Promise<Cut> {
    const { quorum, election } = await portsOf(leader);
    const elections = await Promise.all(followers.map(async (follower) => (await portsOf(follower)).election));
    const own = connectionsOf(leader.pid).filter(({ remotePort }) => elections.includes(remotePort));
    const ownLinks = own.map(({ localPort, remotePort }) => ({ port: remotePort, peer: localPort }));
    return this.#cut(leader, [{ port: quorum, how: 'reset' }, { port: election }, ...ownLinks]);
  }

  /** Cuts a server off from its clients. The connections stay open, and no bytes pass in either direction. */
  cutClientsOff(server: ZooKeeperServer): Promise<Cut> {
    return this.#cut(server, [{ port: server.port }]);
  }

  async restart(...servers: readonly ZooKeeperServer[]): Promise<void> {
    await Promise.all(servers.map((server) => server.kill()));
    await Promise.all(servers.map((server) => server.start()));
    await this.whole();
  }

  /** Heals all links, and resumes or starts all servers. */
  async mend(): Promise<void> {
    const cuts = [...this.#cuts];
    this.#cuts.clear();
    await Promise.all(cuts.map(([, cut]) => cut.heal()));
    const wereCut = cuts.map(([server]) => server);
    const others = this.servers.filter((server) => !wereCut.includes(server));
    others.filter(runs).forEach((server) => server.resume());
    await Promise.all(others.filter((server) => !runs(server)).map((server) => server.start()));
    // TCP retries at growing intervals: without a restart, a connection that was cut for some seconds would recover
    // only after as many seconds.
    await this.restart(...wereCut);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#cuts.values()].map((cut) => cut.heal()));
    await this.#ensemble.stop();
  }

  async #cut(server: ZooKeeperServer, links: readonly Link[]): Promise<Cut> {
    const cut = await cutLinks(links);
    this.#cuts.set(server, cut);
    return cut;
  }
}

/** An ensemble for the tests of a `describe`; faults of one test are repaired before the next test. */
export function useTrio(): { readonly trio: Trio } {
  const used: { trio?: Trio } = {};
  before(async function () {
    // Packages may have to be installed.
    this.timeout(300_000);
    used.trio = await Trio.start();
  });
  afterEach(async function () {
    this.timeout(60_000);
    await used.trio?.mend();
  });
  after(() => used.trio?.[Symbol.asyncDispose]());
  return {
    get trio() {
      if (!used.trio) throw new Error('The servers are started in a before hook');
      return used.trio;
    },
  };
}

async function portsOf(server: ZooKeeperServer): Promise<{ quorum: number; election: number }> {
  const answer = await server.command('conf');
  const port = (name: string): number => Number(new RegExp(`^${name}=(\\d+)$`, 'm').exec(answer)?.[1]);
  return { quorum: port('quorumPort'), election: port('electionPort') };
}

function runs(server: ZooKeeperServer): boolean {
  try {
    return server.pid > 0;
  } catch {
    return false;
  }
}
