import { throwIfAborted } from '../support/abort-signal.js';
import { LockTimeoutError } from '../internals/lock-errors.js';
import { requireOpen, type LockClient } from '../client/lock-client.js';
import { LeaseInternals, type Limit } from './lease-internals.js';
import { readParticipants, type Participant } from '../internals/participants.js';
import { Deadline } from '../internals/deadline.js';
import { dataOfOptions, leaseTermsOf, type AcquireOptions } from '../mutex/acquire-options.js';
import { ask, type AskOptions } from '../mutex/ask.js';
import { Hold, type HoldKeeper } from '../mutex/hold.js';
import { usedLimits } from './used-limits.js';

/** The leases of one semaphore object: acquired, and kept until they are released. */
export class Leases {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #limit: Limit;
  readonly #internals: LeaseInternals;
  readonly #keeper: HoldKeeper;
  /** What was not released yet, the oldest first. */
  readonly #holds = new Set<Hold>();

  constructor(client: LockClient, path: string, limit: Limit) {
    this.#client = client;
    this.#path = path;
    this.#limit = limit;
    this.#internals = new LeaseInternals(client, path, limit);
    this.#keeper = {
      lock: { client, path, lockName: 'lease-' },
      released: (hold) => {
        if (this.#holds.delete(hold)) usedLimits(client).leave(path);
      },
      tell: () => undefined,
    };
  }

  get oldest(): Hold | undefined {
    const [oldest] = this.#holds;
    return oldest;
  }

  get isAnyValid(): boolean {
    return [...this.#holds].some((hold) => hold.isValid);
  }

  /** All of them; LockTimeoutError, too, when a single try finds too few. */
  async acquire(quantity: number, options: AcquireOptions): Promise<Hold[]> {
    requireOpen(this.#client, `the semaphore ${this.#path} cannot be acquired`);
    throwIfAborted(options.signal);
    const limits = usedLimits(this.#client);
    limits.enter(this.#path, this.#limit);
    const deadline = Deadline.ofAcquire(this.#client, this.#path, options);
    try {
      const grants = await this.#internals.acquire(quantity, deadline, dataOfOptions(options));
      if (grants === undefined) throw new LockTimeoutError(this.#path, 0);
      return grants.map((grant) => {
        limits.enter(this.#path, this.#limit);
        const hold = new Hold({ grant, handles: 0 }, this.#keeper, undefined);
        this.#holds.add(hold);
        return hold.begin(leaseTermsOf(options));
      });
    } finally {
      limits.leave(this.#path);
      deadline.dispose();
    }
  }

  /** One of them; undefined when the time is over. */
  async tryAcquire(options: AcquireOptions): Promise<Hold | undefined> {
    try {
      const [lease] = await this.acquire(1, options);
      return lease;
    } catch (error) {
      if (error instanceof LockTimeoutError) return undefined;
      throw error;
    }
  }

  participants(options?: AskOptions): Promise<Participant[]> {
    const question = { call: 'participants', what: 'participants', path: this.#path } as const;
    return ask(this.#client, question, options, (deadline) => readParticipants(this.#client, this.#internals.leasesPath, this.#internals.driver, deadline));
  }
}
