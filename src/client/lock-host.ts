import type { Chance } from '../support/chance.js';
import type { Clock } from '../support/clock.js';
import { Companions } from '../support/companions.js';
import type { Caller, Deadline } from '../support/deadline.js';
import { markCopy } from './package-copy.js';
import { Parents } from '../zookeeper/session/parents.js';
import { ClientClosedError } from './report/client-errors.js';
import type { CheckedClientOptions } from './options/client-options.js';
import type { ClientReport } from './report/client-report.js';
import type { ServerList } from './options/server-list.js';
import type { SessionKeeper } from './session-keeper.js';
import type { SessionSource } from './session-source.js';

/** The parts of a client that its locks use. */
export class LockHost implements Caller {
  readonly options: CheckedClientOptions;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly sessions: SessionKeeper;
  readonly report: ClientReport;
  readonly #servers: ServerList;
  readonly parents: Parents;
  readonly deadlines = new Set<Deadline>();
  /** The objects that locks keep for this client. */
  readonly companions = new Companions<LockHost>(this);

  constructor({ servers, options, clock, chance }: SessionSource, sessions: SessionKeeper, report: ClientReport) {
    this.options = options;
    this.clock = clock;
    this.chance = chance;
    this.sessions = sessions;
    this.report = report;
    this.#servers = servers;
    this.parents = new Parents(servers);
  }

  /** The same text for every client with the same hosts and chroot at first, whatever the order of the hosts. */
  get address(): string {
    return this.#servers.address;
  }

  get isClosing(): boolean {
    return this.sessions.isClosing;
  }

  /** The number of acquires that have not settled yet. */
  get acquires(): number {
    let count = 0;
    for (const { isAcquire } of this.deadlines) if (isAcquire) count += 1;
    return count;
  }

  /** @param what what cannot be done with a closed client, for the error */
  requireOpen(what: string): void {
    if (this.isClosing) throw new ClientClosedError(what);
  }

  static {
    // Each lock has the host of its client.
    markCopy(this.prototype);
  }
}
