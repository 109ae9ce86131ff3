import type { Chance } from '../support/chance.js';
import type { Clock } from '../support/clock.js';
import { shuffled } from '../support/shuffled.js';
import type { ConnectString } from '../zookeeper/connect-string.js';
import type { Network } from '../zookeeper/network.js';
import { ServerTraits } from '../zookeeper/server-traits.js';
import type { SessionOwner } from '../zookeeper/session-owner.js';
import { Session } from '../zookeeper/session.js';
import type { SessionOptions } from '../zookeeper/session-shell.js';
import type { CheckedClientOptions } from './client-options.js';
import type { ClientReport } from './client-report.js';
import { saslSource } from './sasl-options.js';
import type { Surroundings } from './surroundings.js';

/** Opens sessions with the servers of one client, by its account. */
export class SessionSource {
  readonly target: ConnectString;
  readonly options: CheckedClientOptions;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly #network: Network;
  readonly #report: ClientReport;
  readonly #traits: ServerTraits;

  constructor(
    target: ConnectString,
    options: CheckedClientOptions,
    { clock, chance, network }: Surroundings,
    report: ClientReport,
  ) {
    this.target = target;
    this.options = options;
    this.clock = clock;
    this.chance = chance;
    this.#network = network;
    this.#report = report;
    this.#traits = new ServerTraits(() => clock.now());
  }

  /** Errors that `owner` does not hear of are reported as warnings. */
  open(owner: SessionOwner<Session>, how: Opening = {}): Session {
    const { target, options, clock, chance } = this;
    const { random, uuid } = chance;
    return new Session(
      {
        // If all clients tried the servers in the same order, all would connect to the first one.
        hosts: shuffled(target.hosts, random),
        chroot: target.chroot,
        sessionTimeoutMs: options.sessionTimeoutMs,
        auth: options.auth,
        tls: options.tls,
        sasl: options.sasl && saslSource(options.sasl, uuid),
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
