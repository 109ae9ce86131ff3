import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import type { Deadline } from '../support/deadline.js';
import { Grant } from '../internals/grant.js';
import { IdleFlag } from './idle-flag.js';
import { IdleTime } from './idle-time.js';
import type { LockNode } from '../internals/znode/lock-node.js';
import type { Session } from '../zookeeper/session/session.js';
import { isRetryable } from '../zookeeper/wire/zookeeper-error.js';
import { reached } from '../support/reached.js';

/**
 * One znode of a sticky lock, and all local waiters that it serves, one after another, from its creation until another
 * process wants the lock. Modelled on Chubby's cached locks.
 */
export class StickyTenure {
  readonly #options: StickyTenureOptions;
  readonly #waiters = new Set<LocalWaiter>();
  readonly #ended: () => void;
  #state: TenureState;
  #use: Use = free;
  #contention: Contention = 'unknown';
  #stopAsking: CancelTimer = () => {};
  #grants = 0n;
  /** The connection on which the servers have last shown that the znode is there. */
  #checkedOn = -1;
  #leftUntilPoll = servedBetweenPolls;
  #stopListening: (() => void)[] = [];

  constructor(options: StickyTenureOptions, { ended, stopQueueing }: TenureEnds) {
    this.#options = options;
    this.#ended = ended;
    this.#state = { at: 'queueing', stop: stopQueueing };
  }

  /** The deadline of the acquire of the znode, which stands for the local waiters. */
  get deadline(): Deadline {
    return this.#options.deadline;
  }

  /** Once a remote waiter is known, later local callers must queue behind it. */
  get isOpen(): boolean {
    return this.#state.at !== 'over' && this.#contention !== 'some';
  }

  /** True if a caller that joins now is served at once. */
  get isIdle(): boolean {
    return this.#state.at === 'serving' && this.#state.idle.isOn && this.#waiters.size === 0 && this.#isFit();
  }

  join(waiter: LocalWaiter): () => void {
    this.#waiters.add(waiter);
    this.#goOn();
    return () => {
      this.#waiters.delete(waiter);
      if (this.#state.at !== 'queueing' || this.#waiters.size > 0) return;
      const { stop } = this.#state;
      // Before the wait of the znode is stopped, so that no caller can join the tenure again.
      this.#end();
      stop();
    };
  }

  /**
   * Begins to serve, because the znode has the lock. If the znode had to wait, other processes want the lock too: then
   * the tenure serves only the present local waiters, and ends.
   */
  begin(first: Grant): void {
    const [next] = this.#waiters;
    if (next === undefined || this.#state.at === 'over' || !first.isValid) {
      this.#end();
      void first.release();
      return;
    }
    const { node } = first;
    const idle = new IdleTime(new IdleFlag(node, this.#options.data), this.#options, () => void this.#leave());
    this.#state = { at: 'serving', node, idle };
    if (node.hasWaited) {
      reached('sticky: begins with a remote waiter behind it');
      this.#contention = 'some';
    }
    const { session } = node;
    this.#checkedOn = session.epoch;
    this.#stopListening = [
      session.onChange(() => (session.isEnded ? this.#end() : this.#goOn())),
      session.onChange(() => idle.flag.catchUp()),
      // An idle lock may be granted at any time, without a request.
      session.keepProven(),
      node.onGone(() => this.#end()),
      node.watch.onMark((mark) => (mark === 'force' ? this.#taken() : this.#contended())),
    ];
    this.#serve(next, first, idle);
  }

  /** Fails all local waiters, because the znode did not get the lock. */
  fail(error: unknown): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    this.#end();
    for (const waiter of waiters) waiter.failed(error);
  }

  /**
   * Ends the tenure because the lock is taken by force. The holder's signal aborts, and its release deletes the znode.
   * No other caller is served.
   */
  #taken(): void {
    if (this.#state.at !== 'serving') return;
    const { node } = this.#state;
    const isHeld = this.#use.by === 'holder';
    if (!isHeld) reached('sticky: taken while nobody holds it');
    this.#end();
    if (!isHeld) void node.delete();
  }

  #goOn(): void {
    if (this.#state.at !== 'serving' || this.#use.by !== 'nobody') return;
    const [next] = this.#waiters;
    if (next === undefined) {
      if (this.#contention === 'some') {
        void this.#leave();
        return;
      }
      this.#state.idle.begin();
      if (!this.#isChecked(this.#state.node)) this.#becomeFit();
      return;
    }
    if (!this.#isFit()) {
      reached('sticky: the session must be proven before the next grant');
      this.#becomeFit();
      if (next.mayWait || !this.#waiters.delete(next)) return;
      next.served(undefined);
      this.#goOn();
    } else if (this.#leftUntilPoll === 0) {
      // A loop of microtasks alone would let no timer and no I/O run: no heartbeat would be sent, and no request of
      // another process would be seen.
      this.#rest();
    } else {
      this.#leftUntilPoll -= 1;
      this.#grants += 1n;
      const { node, idle } = this.#state;
      this.#serve(next, new Grant(node, { number: this.#grants, giveUp: () => this.release(node) }), idle);
    }
  }

  #serve(waiter: LocalWaiter, grant: Grant, idle: IdleTime): void {
    this.#waiters.delete(waiter);
    this.#use = held;
    idle.stop();
    grant.onLost(() => this.#end());
    waiter.served(grant);
  }

  /** Takes the znode back at the release of a grant, and serves the next local waiter. */
  release(node: LockNode): Promise<void> | undefined {
    // The grant came too late for the waiters of this tenure.
    if (this.#state.at !== 'serving') return node.handOverOrDelete();
    this.#use = free;
    if (this.#contention === 'unknown') inNoContext(() => this.#ask());
    else if (this.#contention === 'some' && this.#waiters.size === 0) return this.#leave();
    else this.#goOn();
    return undefined;
  }

  /**
   * Asks whether another process wants the lock. Only a list that contains our znode alone makes the lock idle; from
   * then on the watch reports every change.
   */
  #ask(): void {
    if (this.#state.at !== 'serving') return;
    const { session, name } = this.#state.node;
    const { path } = this.#options;
    const asking: Use = { by: 'question' };
    const answered = (contention: Contention): void => {
      if (this.#use !== asking) return;
      this.#use = free;
      this.#contention = contention;
      this.#goOn();
    };
    this.#use = asking;
    session.watches.plant(path, 'children', this.#contended).then(
      (names = []) => {
        // Another client deleted our znode, so the znode must serve no caller any more.
        if (!names.includes(name)) void this.#leave();
        else answered(names.length === 1 ? 'none' : 'some');
      },
      () => answered('some'),
    );
    this.#askAgainLater(session);
  }

  /**
   * Asks again after each session timeout: servers send no event of a list to a client that may not read it any more
   * (CVE-2024-23944). A refusal means that others may wait.
   */
  #askAgainLater(session: Session): void {
    this.#stopAsking = this.#options.clock.after(session.timeoutMs, () => {
      const { path } = this.#options;
      session.watches.plant(path, 'children', this.#contended).then(
        (names = []) => names.length > 1 && this.#contended(),
        (error: unknown) => isRetryable(error) || this.#contended(),
      );
      this.#askAgainLater(session);
    });
  }

  readonly #contended = (): void => {
    this.#stopAsking();
    this.#contention = 'some';
    if (this.#use.by === 'question') this.#use = free;
    this.#goOn();
  };

  /**
   * True if the session is connected and was heard from lately, because otherwise no request of another process could
   * arrive, if the session's deadline is far enough away, and if the znode was checked on this connection.
   */
  #isFit(): boolean {
    if (this.#state.at !== 'serving') return false;
    const { session } = this.#state.node;
    const silentMs = this.#options.clock.now() - session.connection.heardAt;
    const isHeard = session.isConnected && session.isAlive() && silentMs < session.timeoutMs / 4;
    return isHeard && !session.needsProof() && this.#isChecked(this.#state.node);
  }

  /** False after a reconnect, because the events that the old connection has missed arrive later, in no order. */
  #isChecked({ session }: LockNode): boolean {
    return this.#checkedOn === session.epoch;
  }

  /** Proves the session and the znode, then serves the next waiter. A change of the session does the same. */
  #becomeFit(): void {
    if (this.#state.at !== 'serving' || !this.#state.node.session.isConnected) return;
    const { node } = this.#state;
    const { session } = node;
    const { epoch } = session;
    const rest: Use = { by: 'rest', stop: () => {} };
    this.#use = rest;
    const pause = (): void => {
      if (this.#use === rest)
        rest.stop = this.#options.clock.after(this.#isFit() ? 0 : session.proofPauseMs, () => this.#rested());
    };
    const proven = (): void => {
      this.#checkedOn = epoch;
      pause();
    };
    session.prove(node).then(proven, pause);
  }

  #rest(): void {
    const rest: Use = { by: 'rest', stop: () => {} };
    this.#use = rest;
    this.#options.clock.afterPoll(() => {
      this.#leftUntilPoll = servedBetweenPolls;
      this.#rested();
    });
  }

  #rested(): void {
    this.#use = free;
    this.#goOn();
  }

  #leave(): Promise<void> | undefined {
    if (this.#state.at !== 'serving') return undefined;
    const { node } = this.#state;
    this.#end();
    return node.handOverOrDelete();
  }

  #end(): void {
    if (this.#state.at === 'over') return;
    if (this.#state.at === 'serving') {
      this.#state.idle.end();
      this.#state.node.session.watches.remove(this.#options.path, 'children', this.#contended, { forget: true });
    }
    this.#state = { at: 'over' };
    if (this.#use.by === 'rest') this.#use.stop();
    this.#use = free;
    this.#stopAsking();
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#ended();
    for (const waiter of [...this.#waiters]) {
      this.#waiters.delete(waiter);
      waiter.served(undefined);
    }
  }
}

export interface StickyTenureOptions {
  /** The lock's znode. */
  readonly path: string;
  readonly data: () => Uint8Array;
  readonly deadline: Deadline;
  readonly idleMs: number;
  readonly clock: Clock;
}

/** The callbacks for the end of a tenure. */
export interface TenureEnds {
  /** Called once, when the tenure can serve no caller any more. */
  readonly ended: () => void;
  /** Called when no local waiter is left while the znode still waits for the lock. */
  readonly stopQueueing: () => void;
}

/**
 * A caller of this process that waits. `served(undefined)` means that the tenure is over, and that the caller has to
 * join another one.
 */
export interface LocalWaiter {
  /**
   * True for a caller that waits until its deadline. Any other caller is sent away if it cannot be served when it comes
   * first.
   */
  readonly mayWait: boolean;
  served(grant: Grant | undefined): void;
  failed(error: unknown): void;
}

type TenureState =
  | { readonly at: 'queueing'; readonly stop: () => void }
  | { readonly at: 'serving'; readonly node: LockNode; readonly idle: IdleTime }
  | { readonly at: 'over' };

/** The reason why the next local waiter is not served now; `nobody` means that there is none. */
type Use =
  | { readonly by: 'nobody' }
  | { readonly by: 'holder' }
  | { readonly by: 'question' }
  | { readonly by: 'rest'; stop: () => void };

/**
 * The answer to whether another process wants the lock. It is asked at the first release; from then on the watch
 * reports every change.
 */
type Contention = 'unknown' | 'none' | 'some';

const free: Use = { by: 'nobody' };
const held: Use = { by: 'holder' };
const servedBetweenPolls = 64;
