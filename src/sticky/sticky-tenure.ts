import { inNoContext } from '../support/no-context.js';
import type { CancelTimer, Clock } from '../support/clock.js';
import { Grant } from '../internals/grant.js';
import { IdleFlag } from './idle-flag.js';
import type { LockNode } from '../internals/lock-node.js';

/**
 * One znode of a sticky lock, and all local waiters that it serves, one after another: from when it queues up until
 * another process wants the lock. After Chubby's
 * cached locks.
 */
export class StickyTenure {
  readonly #options: StickyTenureOptions;
  readonly #waiters = new Set<LocalWaiter>();
  readonly #ended: () => void;
  #state: TenureState;
  #use: Use = free;
  #contention: Contention = 'unknown';
  #idleSince: number | undefined;
  #stopTimer: CancelTimer | undefined;
  #grants = 0n;
  #leftUntilPoll = servedBetweenPolls;
  #stopListening: (() => void)[] = [];

  constructor(options: StickyTenureOptions, { ended, stopQueueing }: TenureEnds) {
    this.#options = options;
    this.#ended = ended;
    this.#state = { at: 'queueing', stop: stopQueueing };
  }

  /** Once a remote waiter is known, later local callers must queue behind it. */
  get isOpen(): boolean {
    return this.#state.at !== 'over' && this.#contention !== 'some';
  }

  /** Whether a caller that joins now is served at once. */
  get isIdle(): boolean {
    return this.#idleSince !== undefined && this.#waiters.size === 0 && this.#isFit();
  }

  join(waiter: LocalWaiter): () => void {
    this.#waiters.add(waiter);
    this.#goOn();
    return () => {
      this.#waiters.delete(waiter);
      if (this.#state.at === 'queueing' && this.#waiters.size === 0) this.#stopQueueing(this.#state.stop);
    };
  }

  /** No local waiter is left. It ends first, before anybody can join it again. */
  #stopQueueing(stop: () => void): void {
    this.#end();
    stop();
  }

  /**
   * The znode has the lock. If it had to wait, other processes want the lock, too: then it serves the local waiters of
   * now, and ends.
   */
  begin(first: Grant): void {
    const [next] = this.#waiters;
    if (next === undefined || this.#state.at === 'over' || !first.isValid) {
      this.#end();
      void first.release();
      return;
    }
    const { node } = first;
    const flag = new IdleFlag(node, this.#options.data);
    this.#state = { at: 'serving', node, flag };
    if (node.hasWaited) this.#contention = 'some';
    const { session } = node;
    this.#stopListening = [
      session.onChange(() => (session.isEnded ? this.#end() : this.#goOn())),
      session.onChange(() => flag.catchUp()),
      node.onGone(() => this.#end()),
      node.watch.onMark((mark) => (mark === 'force' ? this.#taken() : this.#contended())),
    ];
    this.#serve(next, first);
  }

  /** The znode did not get the lock, or no local waiter wants it any more. */
  fail(error: unknown): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    this.#end();
    for (const waiter of waiters) waiter.failed(error);
  }

  /** The holder is told, and lets the znode go. Nobody else is served by it. */
  #taken(): void {
    if (this.#state.at !== 'serving') return;
    const { node } = this.#state;
    const isHeld = this.#use.by === 'holder';
    this.#end();
    if (!isHeld) void node.delete();
  }

  #goOn(): void {
    if (this.#state.at !== 'serving' || this.#use.by !== 'nobody') return;
    const [next] = this.#waiters;
    if (next === undefined) {
      if (this.#contention === 'some') void this.#leave();
      else this.#becomeIdle();
      return;
    }
    if (!this.#isFit()) {
      this.#becomeFit();
      if (next.isPatient || !this.#waiters.delete(next)) return;
      next.served(undefined);
      this.#goOn();
    } else if (this.#leftUntilPoll === 0) {
      // A loop of microtasks would let no timer run, no heartbeat, and no news.
      this.#rest();
    } else {
      this.#leftUntilPoll -= 1;
      this.#grants += 1n;
      this.#serve(next, new Grant(this.#state.node, { number: this.#grants }));
    }
  }

  #serve(waiter: LocalWaiter, grant: Grant): void {
    this.#waiters.delete(waiter);
    this.#use = held;
    this.#stopIdling();
    grant.onRelease = () => this.#released();
    grant.onLost(() => this.#end());
    waiter.served(grant);
  }

  #released(): Promise<void> | undefined {
    this.#use = free;
    if (this.#contention === 'unknown') inNoContext(() => this.#ask());
    else if (this.#contention === 'some' && this.#waiters.size === 0) return this.#leave();
    else this.#goOn();
    return undefined;
  }

  /**
   * Does another process want the lock? Only a list of our znode alone makes the lock idle; from then on the servers
   * tell.
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
    session.watch(path, 'children', this.#contended).then(
      (names = []) => {
        // Somebody deleted our znode: it must serve nobody any more.
        if (!names.includes(name)) void this.#leave();
        else answered(names.length === 1 ? 'none' : 'some');
      },
      () => answered('some'),
    );
  }

  readonly #contended = (): void => {
    this.#contention = 'some';
    if (this.#use.by === 'question') this.#use = free;
    this.#goOn();
  };

  /** Connected, and lately heard from, or else news could not arrive; and the session has long enough to live. */
  #isFit(): boolean {
    if (this.#state.at !== 'serving') return false;
    const { session } = this.#state.node;
    const silentMs = this.#options.clock.now() - session.heardAt;
    return session.isConnected && session.isAlive() && silentMs < session.timeoutMs / 4 && session.hasTimeToGrant;
  }

  /** The next change of the session goes on as well. */
  #becomeFit(): void {
    if (this.#state.at !== 'serving' || !this.#state.node.session.isConnected) return;
    const { session } = this.#state.node;
    const rest: Use = { by: 'rest', stop: nothing };
    this.#use = rest;
    const pause = (): void => {
      if (this.#use === rest)
        rest.stop = this.#options.clock.after(this.#isFit() ? 0 : session.proofPauseMs, () => this.#rested(rest));
    };
    session.prove().then(pause, pause);
  }

  #rest(): void {
    const rest: Use = { by: 'rest', stop: nothing };
    this.#use = rest;
    this.#options.clock.afterPoll(() => {
      this.#leftUntilPoll = servedBetweenPolls;
      this.#rested(rest);
    });
  }

  #rested(rest: Use): void {
    if (this.#use !== rest) return;
    this.#use = free;
    this.#goOn();
  }

  /** One timer for all the short times between the holders: it runs on while the lock is held. */
  #becomeIdle(): void {
    this.#idleSince ??= this.#options.clock.now();
    this.#stopTimer ??= this.#timer(Math.min(idleBeforeFlagMs, this.#options.idleMs));
  }

  #timer(delayMs: number): CancelTimer {
    return this.#options.clock.after(delayMs, () => {
      this.#stopTimer = undefined;
      this.#idled();
    });
  }

  #idled(): void {
    if (this.#idleSince === undefined || this.#state.at !== 'serving') return;
    const { flag } = this.#state;
    const idleMs = this.#options.clock.now() - this.#idleSince;
    if (idleMs >= this.#options.idleMs) {
      void this.#leave();
      return;
    }
    if (idleMs >= idleBeforeFlagMs) flag.show('idle');
    this.#stopTimer = this.#timer(flag.isUp ? this.#options.idleMs - idleMs : idleBeforeFlagMs - idleMs);
  }

  #stopIdling(): void {
    this.#idleSince = undefined;
    if (this.#state.at !== 'serving' || !this.#state.flag.isUp) return;
    this.#state.flag.show('busy');
    this.#stopTimer?.();
    this.#stopTimer = undefined;
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
      this.#state.flag.end();
      this.#state.node.session.unwatch(this.#options.path, 'children', this.#contended, { forget: true });
    }
    this.#state = { at: 'over' };
    if (this.#use.by === 'rest') this.#use.stop();
    this.#use = free;
    this.#idleSince = undefined;
    this.#stopTimer?.();
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
  readonly idleMs: number;
  readonly clock: Clock;
}

/** What a tenure says of its end. */
export interface TenureEnds {
  /** Called once, when nobody can be served by it any more. */
  readonly ended: () => void;
  /** Called when its znode has waited for the lock, and no local waiter is left. */
  readonly stopQueueing: () => void;
}

/**
 * A caller of this process that waits to be served. `served(undefined)` says that the tenure is over, and another one
 * has to be joined.
 */
export interface LocalWaiter {
  /** Does it wait as long as it takes? Else it is sent away when it cannot be served as soon as it is its turn. */
  readonly isPatient: boolean;
  served(grant: Grant | undefined): void;
  failed(error: unknown): void;
}

type TenureState =
  | { readonly at: 'queueing'; readonly stop: () => void }
  | { readonly at: 'serving'; readonly node: LockNode; readonly flag: IdleFlag }
  | { readonly at: 'over' };

/** Why the next local waiter is not served now; `nobody` if nothing is in the way. */
type Use =
  | { readonly by: 'nobody' }
  | { readonly by: 'holder' }
  | { readonly by: 'question' }
  | { readonly by: 'rest'; stop: () => void };

/** Does another process want the lock? Asked at the first release; from then on the servers tell. */
type Contention = 'unknown' | 'none' | 'some';

const free: Use = { by: 'nobody' };
const held: Use = { by: 'holder' };
const servedBetweenPolls = 64;
const idleBeforeFlagMs = 20;

function nothing(): void {
  // Nothing runs yet.
}
