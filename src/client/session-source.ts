import type { Chance } from '../support/chance.js';
import type { Clock } from '../support/clock.js';
import type { Network } from '../zookeeper/network/network.js';
import { ServerTraits } from '../zookeeper/connection/server-traits.js';
import type { SessionOwner } from '../zookeeper/session/session-owner.js';
import { Session } from '../zookeeper/session/session.js';
import type { SessionOptions } from '../zookeeper/session/session-shell.js';
import type { CheckedClientOptions } from './options/client-options.js';
import type { ClientReport } from './report/client-report.js';
import { saslSource } from './options/sasl-options.js';
import type { ServerList } from './options/server-list.js';
import type { Surroundings } from './surroundings.js';

/** Opens sessions with the servers of one client, by its account. */
export class SessionSource {
  readonly servers: ServerList;
  readonly options: CheckedClientOptions;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly #network: Network;
  readonly #report: ClientReport;
  readonly #traits: ServerTraits;

  constructor(
    servers: ServerList,
    options: CheckedClientOptions,
    { clock, chance, network }: Surroundings,
    report: ClientReport,
  ) {
    this.servers = servers;
    this.options = options;
    this.clock = clock;
    this.chance = chance;
    this.#network = network;
    this.#report = report;
    this.#traits = new ServerTraits(() => clock.now());
  }

  /** Errors that `owner` does not hear of are reported as warnings. */
  open(owner: SessionOwner<Session>, how: Opening = {}): Session {
    const { servers, options, clock, chance } = this;
    const { random, uuid } = chance;
    const sasl = options.sasl();
    return new Session(
      {
        servers,
        sessionTimeoutMs: options.sessionTimeoutMs,
        auth: options.auth(),
        tls: options.tls,
        sasl: sasl && saslSource(sasl, uuid),
        tickTimeMs: options.tickTimeMs,
        clock,
        random,
        network: this.#network,
        traits: this.#traits,
        connectBy: -Infinity,
        ...how,
      },
      { warn: (message, error) => this.#report.warn(message, error), ...owner },
    );
  }
}

/** The options of one session. The others are those of the client. */
type Opening = Partial<Pick<SessionOptions, 'connectBy' | 'resume' | 'sessionTimeoutMs' | 'unansweredRounds'>>;
