import type { CheckedClientOptions } from '../client/options/client-options.js';
import type { Deadline } from '../support/deadline.js';
import type { Session } from '../zookeeper/session/session.js';
import { SharedCount } from './shared-count.js';

/** The number of leases: given by the application, or by a znode that may change. */
export type Limit =
  { readonly is: 'fixed'; readonly maxLeases: number } | { readonly is: 'shared'; readonly path: string };

/** Knows or reads the number of leases of one semaphore. */
export class LeaseLimit {
  /** Undefined for a number that may change. */
  readonly fixed: number | undefined;
  /** The znode with a number that may change. */
  readonly count: SharedCount | undefined;
  /** The number when it was last read, for texts; undefined before that. */
  last: number | undefined;

  constructor(options: CheckedClientOptions, limit: Limit) {
    if (limit.is === 'fixed') this.fixed = limit.maxLeases;
    else this.count = new SharedCount(options, limit.path);
    this.last = this.fixed;
  }

  /** Resolves as {@link SharedCount.read}. */
  async read(session: Session, deadline: Deadline): Promise<number | undefined> {
    if (this.count === undefined) return this.fixed;
    const count = await this.count.read(session, deadline);
    if (count !== undefined) this.last = count;
    return count;
  }
}
