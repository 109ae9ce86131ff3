import type { LockHost } from '../client/lock-host.js';
import { RecentKeys } from '../client/report/recent-keys.js';
import type { Grant } from '../internals/grant.js';
import { seekPhantoms } from '../internals/phantoms.js';
import type { Steps } from '../internals/steps.js';
import type { Outcome, Waiting } from '../internals/waiting.js';
import type { Deadline } from '../support/deadline.js';
import { inNoContext } from '../support/no-context.js';
import { reached } from '../support/reached.js';
import type { Session } from '../zookeeper/session/session.js';
import { watchZnode } from '../zookeeper/session/watches.js';
import { join } from '../zookeeper/wire/path.js';
import type { LeaseLimit } from './lease-limit.js';
import { refuseOtherLocks, type SemaphoreFolders } from './semaphore-folders.js';
import { StandOff } from './stand-off.js';

/**
 * The turn of one call: it takes all leases of the call, or none. If one cannot be acquired, the leases are released
 * before the turn, so that the next call finds none of our znodes.
 */
export class LeaseTurn {
  readonly #semaphore: SemaphoreOfTurn;
  /** The grant of the mutex at `locks`. */
  readonly #turn: Grant;
  readonly #call: Call;
  readonly #session: Session;
  readonly #leases: Steps;
  /** The leases that were granted so far. */
  readonly #grants: Grant[] = [];
  /** The deletions of the znodes that were not granted. */
  readonly #deletions: Promise<void>[] = [];
  readonly #standOff: StandOff;
  /**
   * The limit when this call last read it. Its wait ends when the shared count differs from this number. A number that
   * another call read would hide a change that this call has not seen.
   */
  #limit = 0;

  /** @param leasesBy returns the steps at `leases`, for a limit that may change */
  constructor(semaphore: SemaphoreOfTurn, turn: Grant, call: Call, leasesBy: (limit: () => number) => Steps) {
    this.#semaphore = semaphore;
    this.#turn = turn;
    this.#call = call;
    this.#session = semaphore.host.sessions.current;
    this.#leases = leasesBy(() => this.#limit);
    this.#standOff = new StandOff(semaphore.host.clock);
  }

  async take(): Promise<Taken> {
    const { quantity, deadline } = this.#call;
    const session = this.#session;
    const grants = this.#grants;
    deadline.progress = 'asking';
    let taken: Taken = { is: 'absent' };
    try {
      // Checked again: a client that came to this path since then finds our znodes there.
      refuseOtherLocks(this.#semaphore.folders, session, deadline);
      while (this.#areHeld && grants.length < quantity) {
        if (!(await this.#readLimit())) break;
        const outcome = await this.#takeOne();
        if (outcome.is === 'granted') grants.push(outcome.grant);
        else if (outcome.is === 'gives way') return (taken = { is: 'over' });
        else if (outcome.is === 'absent' || !deadline.mayWait) {
          reached('semaphore: a lease not granted in its turn');
          return taken;
        }
      }
      if (session.isEnded) taken = { is: 'over' };
      else if (grants.length === quantity && this.#areHeld) taken = { is: 'granted', grants };
      return taken;
    } finally {
      if (taken.is === 'granted') void this.#turn.release();
      else inNoContext(() => void this.#giveBack());
    }
  }

  async #giveBack(): Promise<void> {
    if (this.#grants.length > 0) reached('semaphore: leases given back before the turn');
    await Promise.all([...this.#grants.map((grant) => grant.release()), ...this.#deletions]);
    await this.#turn.release();
  }

  async #takeOne(): Promise<Outcome | GivesWay> {
    const { deadline, data } = this.#call;
    const attempt = this.#leases.newAttempt(this.#session, deadline);
    let outcome: Outcome | GivesWay = { is: 'over' };
    try {
      let step = await this.#leases.join(attempt, { data });
      while (step.is === 'waiting') {
        const next = await this.#untilChanged(step);
        if (next === 'gives way') outcome = { is: next };
        if (next !== 'look') return outcome;
        step = await this.#leases.look(attempt, step, 'recheck');
      }
      outcome = step;
      return outcome;
    } catch (error) {
      throw this.#leases.failed(attempt, error);
    } finally {
      if (outcome.is !== 'granted') this.#deletions.push(this.#leases.delete(attempt));
    }
  }

  /**
   * Waits for a reason to look again. Resolves with `over` when the turn is lost, because another process may have the
   * turn now and wait until the znodes of this call are deleted; also when a granted lease is lost, or when the session
   * has ended.
   */
  async #untilChanged({ position = 0, children: sorted = [] }: Waiting): Promise<'look' | 'over' | 'gives way'> {
    this.#warnOfSurplus(position);
    const lookInMs = await this.#standOffIn(sorted, position);
    if (lookInMs === 'gives way') return lookInMs;
    const session = this.#session;
    const { host, folders, limit } = this.#semaphore;
    const held = [this.#turn, ...this.#grants];
    const reason = await this.#call.deadline.wait<'look' | 'over'>((wake, fail) => {
      const look = (): void => wake('look');
      const stops = [
        ...held.map((grant) =>
          grant.onLost(() => {
            reached('semaphore: a part lost while the call waits for the next lease');
            wake('over');
          }),
        ),
        watchZnode(session, folders.leases, 'children', {
          found: (names) => isSameSet(names, sorted) || look(),
          told: look,
          lost: look,
          failed: fail,
        }),
      ];
      const leases = sorted.slice(0, Math.min(position, mostLeasesAsked)).map((name) => join(folders.leases, name));
      stops.push(seekPhantoms(session, host, leases, look));
      if (lookInMs < Infinity) stops.push(host.clock.after(lookInMs, look));
      if (limit.count) stops.push(limit.count.watch(session, this.#limit, host.clock, look));
      if (!this.#areHeld) wake('over');
      return () => stops.forEach((stop) => stop());
    });
    return reason === 'look' && (await this.#readLimit()) ? 'look' : 'over';
  }

  /** Only a call that already has some leases blocks another call by its wait. */
  #standOffIn(sorted: readonly string[], index: number): Promise<number | 'gives way'> {
    if (this.#grants.length === 0) return Promise.resolve(Infinity);
    const part = {
      session: this.#session,
      ...this.#semaphore.folders,
      turn: this.#turn.node.name,
      sorted,
      index,
      own: this.#grants.map(({ node }) => node.name),
    };
    return this.#call.deadline.limit(() => this.#standOff.look(part), ignore);
  }

  /** The call that has the turn creates the only znode that may be more than the limit. */
  #warnOfSurplus(leasesBefore: number): void {
    const { host, folders, limit } = this.#semaphore;
    const { fixed = Infinity } = limit;
    if (leasesBefore <= fixed || !host.companions.of(Surpluses).isNew(folders.path)) return;
    host.report.warn(
      `The semaphore ${folders.path} has { maxLeases: ${fixed} } in this client, but ${folders.leases} has ${leasesBefore} leases. ` +
        'Use the same maxLeases in all clients of this path. If it is the same, a process has died during an acquire, and its znode goes when its session ends',
      undefined,
    );
  }

  /** Resolves with false if the session ended instead, or if there is no answer and the deadline allows no waiting. */
  async #readLimit(): Promise<boolean> {
    const limit = await this.#semaphore.limit.read(this.#session, this.#call.deadline);
    if (limit !== undefined) this.#limit = limit;
    return limit !== undefined;
  }

  get #areHeld(): boolean {
    return [this.#turn, ...this.#grants].every((grant) => grant.isValid);
  }
}

/** One acquire. */
export interface Call {
  readonly quantity: number;
  readonly deadline: Deadline;
  readonly data: Uint8Array | undefined;
}

export type Taken =
  | { readonly is: 'granted'; readonly grants: readonly Grant[] }
  /** One of the call's znodes was deleted: the retry policy decides. */
  | { readonly is: 'absent' }
  /** The session has ended, or the call gives way: it queues up again. */
  | { readonly is: 'over' };

interface SemaphoreOfTurn {
  readonly host: LockHost;
  readonly folders: SemaphoreFolders;
  readonly limit: LeaseLimit;
}

/** The semaphores of one client with more leases than `maxLeases`: logged once for each path. */
class Surpluses extends RecentKeys {}

/** The call releases its leases, so that another call can have them. */
interface GivesWay {
  readonly is: 'gives way';
}

/** The first ones are probably the ones that the call waits for. */
const mostLeasesAsked = 100;

function isSameSet(names: readonly string[], known: readonly string[]): boolean {
  if (names.length !== known.length) return false;
  const all = new Set(known);
  return names.every((name) => all.has(name));
}

function ignore(): void {
  // The answer came too late.
}
