import { hostOf, type LockClient } from '../client/lock-client.js';
import type { LockHost } from '../client/lock-host.js';
import { everyChange } from '../internals/change-watch.js';
import { OrderedQueue } from '../internals/ordered-queue.js';
import { type Participant, shownParticipant } from '../internals/participants.js';
import { ask, type AskOptions } from '../mutex/ask.js';
import type { Hold } from '../mutex/hold.js';
import { holdEvents, type LockObjectEvents } from '../mutex/report/hold-events.js';
import { currentContext, innermostContext, LockContext } from '../mutex/lock-context.js';
import type { RevocationListener } from '../mutex/report/lock-reporter.js';
import { MutexAcquirer } from '../mutex/mutex-acquirer.js';
import { isAbortedBy, untilReleased, withHold } from '../mutex/with-hold.js';
import { abortHubs, newAborter } from '../support/abort-signal.js';
import type { Deadline } from '../support/deadline.js';
import { Emitter, Events } from '../support/events.js';
import { abort } from '../support/no-context.js';
import { showByJson } from '../support/shown.js';
import { expectFunction, expectOptions, expectSignal, expectThis } from '../support/validate.js';
import { lockPath } from '../zookeeper/wire/path.js';
import {
  checkCampaignOptions,
  checkedElection,
  checkLeadOptions,
  type CampaignOptions,
  type CheckedElection,
  type LeaderElectionOptions,
  type LeadOptions,
} from './election-options.js';
import { LeaderWatch } from './leader-watch.js';

/**
 * Elects one leader among processes. It uses the znode format of Apache Curator's LeaderLatch or LeaderSelector, so Java
 * and Node.js processes can take part in one election. A leader is a process that holds a valid term: nothing is cached,
 * and a term is a {@link Hold} with a signal, a deadline, a fencing token and transactions. Candidates lead in the order
 * in which they came. Its events are those of an {@link InterProcessMutex}: `acquired` is the begin of a term.
 *
 * @example
 * const election = new LeaderElection(client, '/leaders/billing', { id: 'host-7' });
 * await election.lead((term, stop) => serve(stop), { requeue: true, signal });
 */
export class LeaderElection extends Emitter<LockObjectEvents> {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #election: CheckedElection;
  readonly #acquirer: MutexAcquirer;

  /**
   * Sends nothing.
   *
   * @param path the znode of the election, below the client's chroot; it is created when it is first needed
   * @throws InvalidPathError for a path that ZooKeeper does not accept
   * @throws TypeError or RangeError for a bad option
   * @example
   * const election = new LeaderElection(client, '/leaders/billing', { id: 'host-7', protocol: 'selector' });
   */
  constructor(client: LockClient, path: string, options: LeaderElectionOptions = {}) {
    const events = new Events<LockObjectEvents>('queued', ...holdEvents);
    super(events);
    const host = hostOf(client);
    const election = checkedElection(options);
    this.#host = host;
    this.#path = lockPath(path);
    this.#election = election;
    const { mutex, data } = election;
    this.#acquirer = new MutexAcquirer(host, this.#path, {
      role: 'election',
      options: mutex,
      data,
      events,
    });
  }

  /** The znode of the election, as the application passed it. */
  get path(): string {
    return this.#path;
  }

  /** The name of this candidate. */
  get id(): string {
    return this.#election.id;
  }

  /**
   * Waits until this candidate leads. The term ends when it is released (the candidate resigns) or lost. Each call is a
   * candidate of its own; only in a lock context that leads already it re-enters, as {@link InterProcessMutex.acquire}.
   *
   * @throws as {@link InterProcessMutex.acquire}
   * @example
   * await using term = await election.campaign({ timeoutMs: 60_000, signal });
   * await serve(term.signal); // resigns afterwards
   */
  async campaign(options?: CampaignOptions): Promise<Hold> {
    const { data } = this.#election;
    return this.#acquirer.acquire(currentContext(), 'campaign', { ...checkCampaignOptions(options), data });
  }

  /**
   * Waits until this candidate leads, and runs `job` as the leader, in a lock context of its own. The end of the job is
   * the end of the term. `stop` aborts when the term is lost, and when `signal` aborts: pass it to what the job calls.
   *
   * With `requeue`, the candidate campaigns again, at the back of the queue, after each job that fulfils and after each
   * loss. A lost term's job must settle first; if it fails, the logger gets its error. So the call rejects in the end.
   *
   * @param job the work of the leader
   * @returns what `job` returned; nothing with `requeue`
   * @throws what `job` throws
   * @throws the reason of `signal` when that aborts while the candidate waits, or before its next term, and when the job
   * throws the AbortError by which Node.js reports that `stop` has aborted for this reason
   * @throws LockLostError when the term was lost, unless `requeue` is set
   * @throws as {@link LeaderElection.campaign}
   * @example
   * process.once('SIGTERM', () => controller.abort());
   * await election.lead((term, stop) => serve(stop), { requeue: true, signal: controller.signal });
   */
  async lead<T>(job: (term: Hold, stop: AbortSignal) => T | PromiseLike<T>, options?: LeadOptions): Promise<T> {
    expectThis(this instanceof LeaderElection, 'election.lead(job)');
    expectFunction('job', job);
    const { requeue = false, ...campaign } = checkLeadOptions(options);
    for (;;) {
      const context = new LockContext('lock', innermostContext());
      const term = await this.#acquirer.acquire(context, 'lead', { ...campaign, data: this.#election.data });
      const stopping = new Stopping(term, campaign.signal);
      // With `requeue`, a job whose lease has ended must not run beside the next term's job in this process.
      const whole = requeue ? untilReleased : withHold;
      try {
        const result = await whole(term, this.#path, () => context.run(() => job(term, stopping.signal)));
        if (!requeue) return result;
      } catch (error) {
        const { signal } = campaign;
        if (signal?.aborted && isAbortedBy(signal.reason, error)) throw signal.reason;
        if (!requeue || term.loss === undefined) throw error;
      } finally {
        stopping.dispose();
      }
      // Such a term sends nothing, so without this pause no heartbeat, timer or abort would run between its jobs.
      if (term.isReentrant) await new Promise<void>((resolve) => this.#host.clock.afterPoll(resolve));
    }
  }

  /**
   * Returns the candidate that leads now, in any process, as the servers know it after every write before this call;
   * undefined if there is none. Only a valid term proves that its own process leads: use `term.isValid` there.
   *
   * @throws ForeignNodeError when other children do not show whether there is a leader
   * @throws as {@link InterProcessMutex.participants}
   * @example
   * console.log((await election.leader())?.id ?? 'nobody');
   */
  leader(options?: AskOptions): Promise<Candidate | undefined> {
    const question = { call: 'leader', what: 'holder', path: this.#path } as const;
    return ask(this.#host, question, options, async (deadline) => {
      const leader = await this.#acquirer.queue.holder(deadline);
      return leader && candidate(leader, true);
    });
  }

  /**
   * Returns all candidates, the leader first.
   *
   * @throws as {@link InterProcessMutex.participants}
   * @example
   * for (const { id, isLeader } of await election.participants()) console.log(id, isLeader ? 'leads' : 'waits');
   */
  participants(options?: AskOptions): Promise<Candidate[]> {
    const question = { call: 'participants', what: 'participants', path: this.#path } as const;
    return ask(this.#host, question, options, async (deadline) => {
      const all = await this.#acquirer.queue.participants(deadline);
      return all.map((participant, index) => candidate(participant, index === 0));
    });
  }

  /**
   * Yields the leader, and yields it again at every change; undefined while there is none. It watches one znode. While
   * the leader stays, it only reads that again after each ten session timeouts: servers send no event to a client that
   * has lost the right to read. Changes that happen while the loop's body runs are combined.
   *
   * @returns a generator that ends when `signal` aborts or the client is closed, and leaves no watch behind
   * @throws ClientClosedError when the client was closed before the call
   * @throws RequestFailedError or ForeignNodeError from the loop
   * @throws TypeError for a bad option
   * @example
   * for await (const leader of election.observe({ signal })) console.log(leader?.id ?? 'nobody');
   */
  observe(options: ObserveOptions = {}): AsyncGenerator<Candidate | undefined, void, undefined> {
    const { signal } = expectOptions('observe', options, ['signal']);
    if (signal !== undefined) expectSignal('signal', signal);
    this.#host.requireOpen(`the leader of ${this.#path} cannot be observed`);
    return this.#leaders(signal);
  }

  /**
   * Lets other clients ask the leader to resign, by `revoke` or Java's Revoker, as {@link
   * InterProcessMutex.makeRevocable} does. The request overwrites the id of the candidate with a mark.
   *
   * @throws TypeError if `listener` is not a function
   * @example
   * election.makeRevocable((term) => finish().finally(() => term.release()));
   */
  makeRevocable(listener: RevocationListener): void {
    expectFunction('listener', listener);
    this.#acquirer.makeRevocable(listener);
  }

  /** Returns what `console.log` and `JSON.stringify` show: the path, the id, and the terms of this process. */
  toJSON(): object {
    const { id, protocol } = this.#election;
    return { path: this.#path, id, protocol, terms: this.#acquirer.shared.holds.map((hold) => hold.toJSON()) };
  }

  static {
    showByJson(this, 'LeaderElection');
  }

  async *#leaders(signal: AbortSignal | undefined): AsyncGenerator<Candidate | undefined, void, undefined> {
    const kind = new OrderedQueue(this.#election.driver, { path: this.#path, foreignNodes: 'reject' });
    const open = (deadline: Deadline): LeaderWatch => new LeaderWatch(this.#host, this.#path, kind, deadline);
    for await (const leader of everyChange(this.#host, this.#path, signal, open, (found) => found?.path))
      yield leader && candidate(leader, true);
  }
}

/** Options of {@link LeaderElection.observe}. */
export interface ObserveOptions {
  /** Ends the loop. The loop also ends when the client is closed. */
  readonly signal?: AbortSignal | undefined;
}

/** A participant of an election. The leader is the first, and the others follow in the order in which they came. */
export interface Candidate extends Participant {
  /** The id that it wrote into its znode, as text. `revoke` and `forceRelease` overwrite it: `__REVOKE__`, `__FORCE__`. */
  readonly id: string;
  /** True for the first of the queue, as the servers know it. Its process may have found its term lost already. */
  readonly isLeader: boolean;
}

function candidate(participant: Participant, isLeader: boolean): Candidate {
  return shownParticipant({ ...participant, id: participant.data.toString(), isLeader });
}

/** The signal of a job that leads: aborts when the term is lost, and when the caller's signal aborts. */
class Stopping {
  readonly #aborter = newAborter();
  readonly #stops: readonly (() => void)[];

  constructor(term: Hold, signal: AbortSignal | undefined) {
    const stop = (reason: unknown): void => abort(this.#aborter, reason);
    this.#stops = [term.signal, signal].map((one) => (one ? abortHubs.onAbort(one, stop) : () => undefined));
  }

  get signal(): AbortSignal {
    return this.#aborter.signal;
  }

  dispose(): void {
    for (const stop of this.#stops) stop();
  }
}
