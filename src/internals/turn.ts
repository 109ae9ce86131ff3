import type { Clock } from '../client/clock.js';
import { getChildren } from '../client/operations.js';
import { whenNoNode } from '../client/zookeeper-error.js';
import { Grant } from './grant.js';
import { IdleFlag } from './idle-flag.js';
import type { LockNode } from './lock-node.js';

export interface TurnOptions {
  readonly root: string;
  readonly data: () => Uint8Array;
  readonly idleMs: number;
  readonly clock: Clock;
}

/** Somebody of this process who waits to be served; undefined says that the turn is over, and another one has to be joined. */
export interface Joiner {
  /** Does it wait as long as it takes? Else it is sent away when it cannot be served as soon as it is its turn. */
  readonly isPatient: boolean;
  served(grant: Grant | undefined): void;
  failed(error: unknown): void;
}

/** Does anybody else want the lock? Asked at the first release, and from then on the servers tell. */
type News = 'unasked' | 'asked' | 'none' | 'some';

type TurnState =
  | { readonly at: 'queueing' }
  | { readonly at: 'serving'; readonly node: LockNode; readonly publicPath: string; readonly flag: IdleFlag }
  | { readonly at: 'over' };

const servedBetweenPolls = 64;
const idleBeforeFlagMs = 20;

/**
 * One znode of a sticky lock, and all whom it serves, one after another: from when it queues up until somebody else wants the lock. After Chubby's
 * cached locks.
 */
export class Turn {
  readonly #options: TurnOptions;
  readonly #line = new Set<Joiner>();
  readonly #ended: () => void;
  #state: TurnState = { at: 'queueing' };
  #news: News = 'unasked';
  #holder: Grant | undefined;
  #grants = 0n;
  #leftUntilPoll = servedBetweenPolls;
  #isResting = false;
  #idleSince: number | undefined;
  #stopTimer = nothing;
  #stopPause = nothing;
  #stopListening: (() => void)[] = [];

  /** `ended` is called once, when nobody can be served by it any more. */
  constructor(options: TurnOptions, ended: () => void) {
    this.#options = options;
    this.#ended = ended;
  }

  /** Who comes after the news belongs behind those whom it is about. */
  get isOpen(): boolean {
    return this.#state.at !== 'over' && this.#news !== 'some';
  }

  get isEmpty(): boolean {
    return this.#line.size === 0;
  }

  /** Nobody stands in line any more, and the znode is not granted yet. */
  get isUnwanted(): boolean {
    return this.#state.at === 'queueing' && this.isEmpty;
  }

  /** Whether who joins now is served at once. */
  get isIdle(): boolean {
    return this.#idleSince !== undefined && this.isEmpty && this.#isFit();
  }

  join(joiner: Joiner): () => void {
    this.#line.add(joiner);
    this.#goOn();
    return () => void this.#line.delete(joiner);
  }

  /** The znode has the lock. Where it had to wait for it, others want it too: then it serves who stands in line by now, and leaves. */
  begin(first: Grant): void {
    const [next] = this.#line;
    if (next === undefined || this.#state.at === 'over' || !first.isValid) {
      this.#end();
      void first.end();
      return;
    }
    const { node, publicPath } = first;
    const flag = new IdleFlag(node, this.#options.data);
    this.#state = { at: 'serving', node, publicPath, flag };
    if (node.hasWaited) this.#news = 'some';
    const { session } = node;
    this.#stopListening = [
      session.onChange(() => (session.isEnded ? this.#end() : this.#goOn())),
      session.onChange(() => flag.catchUp()),
      node.onGone(() => this.#end()),
      node.watch.onMark((mark) => (mark === 'force' ? this.#taken() : this.#heard())),
    ];
    this.#serve(next, first);
  }

  /** Whoever holds it is told, and lets the znode go; nobody else is served by it. */
  #taken(): void {
    if (this.#state.at !== 'serving') return;
    const { node } = this.#state;
    const isHeld = this.#holder !== undefined;
    this.#end();
    if (!isHeld) void node.discard();
  }

  /** The znode did not get the lock, or nobody wants it any more. */
  fail(error: unknown): void {
    const line = [...this.#line];
    this.#line.clear();
    this.#end();
    for (const joiner of line) joiner.failed(error);
  }

  #goOn(): void {
    if (this.#state.at !== 'serving' || this.#holder || this.#isResting || this.#news === 'unasked' || this.#news === 'asked') return;
    const [next] = this.#line;
    if (next === undefined) {
      if (this.#news === 'some') void this.#leave();
      else this.#becomeIdle();
      return;
    }
    if (!this.#isFit()) {
      this.#becomeFit();
      if (next.isPatient || !this.#line.delete(next)) return;
      next.served(undefined);
      this.#goOn();
    } else if (this.#leftUntilPoll === 0) {
      // A loop of microtasks would let no timer run, no heartbeat, and no news.
      this.#rest();
    } else {
      this.#leftUntilPoll -= 1;
      this.#grants += 1n;
      this.#serve(next, new Grant(this.#state.node, this.#state.publicPath, { number: this.#grants }));
    }
  }

  #serve(joiner: Joiner, grant: Grant): void {
    this.#line.delete(joiner);
    this.#holder = grant;
    this.#stopIdling();
    grant.leave = () => this.#released();
    grant.onLost(() => this.#end());
    joiner.served(grant);
  }

  #released(): Promise<void> | undefined {
    this.#holder = undefined;
    if (this.#news === 'unasked') this.#ask();
    else if (this.#news === 'some' && this.#line.size === 0) return this.#leave();
    else this.#goOn();
    return undefined;
  }

  /** Only a list of nobody else makes the lock idle. */
  #ask(): void {
    if (this.#state.at !== 'serving') return;
    const { session, name } = this.#state.node;
    const { root } = this.#options;
    const answered = (news: News): void => {
      if (this.#news === 'asked') this.#news = news;
      this.#goOn();
    };
    this.#news = 'asked';
    session.watch(root, this.#heard, 'children');
    const listed = session.request(getChildren(root, true)).then(({ value }) => value, whenNoNode<string[]>([]));
    listed.then(
      (names) => {
        // Deleted by somebody: nobody may be served by it any more.
        if (!names.includes(name)) void this.#leave();
        else answered(names.length === 1 ? 'none' : 'some');
      },
      () => answered('some'),
    );
  }

  readonly #heard = (): void => {
    this.#news = 'some';
    this.#goOn();
  };

  /** Connected, and lately heard from, or else news could not arrive; and the session has long enough to live. */
  #isFit(): boolean {
    if (this.#state.at !== 'serving') return false;
    const { session } = this.#state.node;
    const quarterMs = session.timeoutMs / 4;
    const now = this.#options.clock.now();
    return session.isConnected && session.isAlive() && now - session.heardAt < quarterMs && session.deadline - now >= quarterMs;
  }

  /** The next change of the session goes on as well. */
  #becomeFit(): void {
    if (this.#state.at !== 'serving' || !this.#state.node.session.isConnected) return;
    const { session } = this.#state.node;
    this.#isResting = true;
    const goOn = (): void => {
      this.#isResting = false;
      this.#goOn();
    };
    // Proof takes the time that the leader needs to hear of it.
    const pause = (): void => {
      if (this.#state.at !== 'over') this.#stopPause = this.#options.clock.after(this.#isFit() ? 0 : session.timeoutMs / 24, goOn);
    };
    session.prove().then(pause, pause);
  }

  #rest(): void {
    this.#isResting = true;
    this.#options.clock.afterPoll(() => {
      this.#isResting = false;
      this.#leftUntilPoll = servedBetweenPolls;
      this.#goOn();
    });
  }

  /** One timer for all the short times between the holders. */
  #becomeIdle(): void {
    const wasTimed = this.#stopTimer !== nothing;
    this.#idleSince ??= this.#options.clock.now();
    if (!wasTimed) this.#time(Math.min(idleBeforeFlagMs, this.#options.idleMs));
  }

  #time(delayMs: number): void {
    this.#stopTimer = this.#options.clock.after(delayMs, () => {
      this.#stopTimer = nothing;
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
    this.#time(flag.isUp ? this.#options.idleMs - idleMs : idleBeforeFlagMs - idleMs);
  }

  #stopIdling(): void {
    this.#idleSince = undefined;
    if (this.#state.at !== 'serving' || !this.#state.flag.isUp) return;
    this.#state.flag.show('busy');
    this.#stopTimer();
    this.#stopTimer = nothing;
  }

  #leave(): Promise<void> | undefined {
    if (this.#state.at !== 'serving') return undefined;
    const { node } = this.#state;
    this.#end();
    return node.passOn();
  }

  #end(): void {
    if (this.#state.at === 'over') return;
    if (this.#state.at === 'serving') {
      this.#state.flag.end();
      this.#state.node.session.unwatch(this.#options.root, this.#heard, { forget: true }, 'children');
    }
    this.#state = { at: 'over' };
    this.#idleSince = undefined;
    this.#stopTimer();
    this.#stopPause();
    for (const stop of this.#stopListening.splice(0)) stop();
    this.#ended();
    for (const joiner of [...this.#line]) {
      this.#line.delete(joiner);
      joiner.served(undefined);
    }
  }
}

function nothing(): void {
  // No timer runs; or the session tells what failed here.
}
