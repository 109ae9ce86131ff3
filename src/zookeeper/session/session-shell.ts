import { inNoContext } from '../../support/no-context.js';
import type { Admission } from './admission.js';
import { attemptMs, mostPauseMs } from '../network/attempt-time.js';
import type { CancelTimer, Clock } from '../../support/clock.js';
import { Connection } from '../connection/connection.js';
import type { ConnectionListener, ConnectionOptions, UnansweredAttempt } from '../connection/connection-options.js';
import { Listeners } from '../../support/listeners.js';
import { loseAll, type Holding } from './holding.js';
import { endsAt, isSettled, type Life, newLife, type Owed, presumedUntil } from './life.js';
import {
  absolute,
  closeSession,
  sync,
  type Operation,
  type WatchEventType,
  type WatchKind,
} from '../wire/operations.js';
import { Prover, type Checked } from './prover.js';
import { step, type Fact, type Order } from './session-life.js';
import type { SessionEnd, SessionOwner } from './session-owner.js';
import type { SessionWatches } from './watches.js';
import {
  errorName,
  errorNumbers,
  isRetryableNumber,
  isUnable,
  isZooKeeperError,
  ZooKeeperError,
} from '../wire/zookeeper-error.js';

/**
 * The connection and the timer of a session. It feeds each fact to `session-life.ts`, which decides, and carries out the
 * orders within the same turn.
 */
export class SessionShell<Of extends ShelledSession> implements ConnectionListener {
  readonly #session: Of;
  readonly #options: SessionOptions;
  readonly #clock: Clock;
  readonly connection: Connection;
  readonly #prover: Prover;
  /** Told at every change of the state, and when the deadline passes. */
  readonly changes = new Listeners<void>();
  owner: SessionOwner<Of>;
  /** Changed by `feed` alone. */
  life: Life;
  /** The last proof. It rejects if the connection ends before the answers. */
  #proving = Promise.resolve();
  #attaching: Attaching | undefined;
  #tick: { readonly at: number; readonly cancel: CancelTimer } = noTick;

  constructor(session: Of, options: SessionOptions, owner: SessionOwner<Of>) {
    const { clock, tickTimeMs, connectBy, servers, resume } = options;
    this.#session = session;
    this.#options = options;
    this.#clock = clock;
    this.owner = owner;
    this.life = newLife({
      tickTimeMs,
      connectBy,
      // The list may be unknown yet, and may change.
      get hosts() {
        return servers.hosts.length;
      },
      isResumed: resume !== undefined,
    });
    this.connection = new Connection(options, this);
    this.#prover = new Prover({
      holdings: session.holdings,
      request: (operation) => this.connection.send(operation),
      chrootBytes: () => Buffer.byteLength(servers.chroot),
      sent: () => this.#sent(),
    });
  }

  get owed(): Owed {
    return { owedSince: this.connection.unansweredSince };
  }

  feed(fact: Fact): void {
    const { life, orders } = step(this.life, fact, this.#clock.now());
    this.life = life;
    this.#setTick(life.wakeAt);
    for (const order of orders) {
      // A listener that was called for the order before may have ended the session.
      if (this.life.state.at === 'ended' && life.state.at !== 'ended') return;
      this.#carryOut(order);
    }
  }

  /** Sends a quorum write, and a sync on its answer. Resolves when both are answered. */
  prove(znode: Checked | undefined): Promise<void> {
    if (znode) this.#prover.add(znode);
    inNoContext(() => this.feed({ is: 'proof-wanted' }));
    return this.#proving;
  }

  /** Resolves when the first write on the new connection is answered, or the connection is lost. */
  attach(znode: Checked | undefined): Promise<void> {
    if (this.life.state.at !== 'connected') return Promise.resolve();
    if (znode) this.#prover.add(znode);
    const { ended } = (this.#attaching ??= newAttaching());
    this.feed({ is: 'attach-wanted' });
    return ended;
  }

  tellSettled(): void {
    if (isSettled(this.life)) this.owner.settled?.(this.#session);
  }

  // The methods of ConnectionListener.

  attemptMs(unansweredRounds: number, measuredMs: number): number {
    const { connectBy, traits, tls, sasl } = this.#options;
    const { grantedMs: sessionTimeoutMs = this.#options.sessionTimeoutMs } = traits;
    const leftMs = (this.life.epoch === 0 ? connectBy : endsAt(this.life)) - this.#clock.now();
    const isSecure = (tls ?? sasl) !== undefined;
    return attemptMs({ sessionTimeoutMs, unansweredRounds, measuredMs, leftMs, isSecure });
  }

  mostPauseMs(): number {
    const { holdings } = this.#session;
    if (holdings.size === 0) return Infinity;
    return mostPauseMs(this.life.proof.timeoutMs, endsAt(this.life) - this.#clock.now());
  }

  unanswered({ startedAt, wasAccepted }: UnansweredAttempt): void {
    if (startedAt < presumedUntil(this.life)) return;
    const { history } = this.connection;
    history.unanswered(wasAccepted);
    if (history.areAllSilent) this.owner.unanswered?.(this.#session);
  }

  connected(sentAt: number): void {
    this.feed({ is: 'granted', sentAt, timeoutMs: this.connection.timeoutMs });
  }

  disconnected(): void {
    this.#prover.forget();
    this.feed({ is: 'cut' });
  }

  expired(): void {
    this.feed({ is: 'end', why: this.life.state.at === 'closing' ? 'closed' : 'expired' });
  }

  authFailed(): void {
    this.feed({ is: 'end', why: 'auth-failed' });
  }

  pinged(sentAt: number): void {
    this.feed({ is: 'ponged', sentAt });
  }

  /** The attach has ended without a new connection, and the old one still stands. */
  attachFailed(): void {
    this.feed({ is: 'attach-failed' });
  }

  answered({ kind, name, isProof }: Operation<unknown>, sentAt: number, error: number): void {
    if (error === 0) {
      if (kind === 'write' && !makesParents.has(name)) this.#session.writesAnswered += 1;
      this.feed({ is: 'answered', kind, sentAt, answeredAt: this.connection.answeredAt });
      return;
    }
    // The error is about the session or the server, not about the request. Only the next ConnectResponse can show the
    // true state. At a server without transactions no session can be proven, but the next server may have them.
    if (isRetryableNumber(error) || isUnable(error, isProof) || (isProof && error === errorNumbers.UNIMPLEMENTED))
      this.connection.drop(new Error(`the server answered ${name} with ${errorName(error)}`));
  }

  roomMade(): void {
    this.#session.admission.admitSome();
  }

  watchFired(path: string, event: WatchEventType): void {
    this.#session.watches.fired(path, event);
  }

  watchedPaths(kind: WatchKind): string[] {
    return this.#session.watches.paths(kind);
  }

  warn(message: string, error: unknown): void {
    this.owner.warn?.(message, error);
  }

  #setTick(at: number): void {
    if (at === this.#tick.at) return;
    this.#tick.cancel();
    this.#tick = noTick;
    if (at === Infinity) return;
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#tick = noTick;
      this.feed({ is: 'tick', hasZnodes: this.#session.znodes > 0, ...this.owed });
    });
    this.#tick = { at, cancel };
  }

  #carryOut(order: Order): void {
    switch (order.do) {
      case 'prove':
        return this.#prove(order.as === 'heartbeat');
      case 'ping':
        this.connection.ping();
        return this.#sent();
      case 'sync':
        void this.connection.send(absolute(sync('/'))).catch(ignore);
        return this.#sent();
      case 'attach':
        this.connection.attach(order.drainMs);
        return this.#sent();
      case 'end-attach':
        this.#attaching?.end();
        this.#attaching = undefined;
        return;
      case 'poll':
        return this.#clock.afterPoll(() => this.feed({ is: 'polled', ...this.owed }));
      case 'drop':
        return this.connection.drop(
          new Error(`the server has not answered for ${Math.round(order.silentMs)} ms or more`),
        );
      case 'tell':
        return this.changes.tell();
      case 'resume':
        if (!order.isAttach) this.owner.connected?.(this.#session);
        return this.feed({ is: 'resumed' });
      case 'suspend':
        return this.owner.suspended?.(this.#session);
      case 'tell-served':
        return this.owner.answered?.(this.#session);
      case 'tell-overdue':
        return this.owner.overdue?.(this.#session);
      case 'lose':
        return loseAll([...this.#session.holdings], 'client-closed');
      case 'ask-to-close':
        return this.#askToClose();
      case 'leave-if-empty':
        if (!this.#options.resume && (this.life.epoch === 0 || this.#session.znodes === 0))
          this.feed({ is: 'end', why: 'closed' });
        return;
      case 'end':
        return this.#end(order.why);
    }
  }

  #prove(isHeartbeat: boolean): void {
    const { epoch } = this.life;
    this.#proving = this.#prover.prove((isAnswered) => {
      if (isHeartbeat) this.feed({ is: 'beaten', isAnswered, epoch, ...this.owed });
      else this.#sent();
    });
    // Without an answer to anything, the server would expire a session that cannot be proven.
    this.#proving.catch((error: unknown) => {
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) this.#carryOut({ do: 'ping' });
    });
  }

  /** Repeated on the next connection if this one ends before the answer. */
  #askToClose(): void {
    this.connection.stopAttaching();
    this.connection.send(closeSession()).then(
      () => this.feed({ is: 'end', why: 'closed' }),
      (error: unknown) => {
        if (error instanceof ZooKeeperError && !error.is('CONNECTION_LOSS')) this.connection.drop(error);
      },
    );
    this.#sent();
  }

  #sent(): void {
    this.feed({ is: 'sent', ...this.owed });
  }

  #end(why: SessionEnd): void {
    const { holdings, lockCount, admission } = this.#session;
    loseAll([...holdings], why === 'expired' ? 'session-expired' : 'session-deadline');
    this.connection.abandon();
    this.changes.tell();
    admission.admitAll();
    this.owner.ended?.(this.#session, why, lockCount);
    this.tellSettled();
  }
}

export interface SessionOptions extends ConnectionOptions {
  /** The time before which the first server must have answered; monotonic milliseconds. */
  readonly connectBy: number;
  /** The servers' tick in milliseconds, if known. */
  readonly tickTimeMs: number | undefined;
}

/** The session, as its shell sees it. */
interface ShelledSession {
  readonly holdings: ReadonlySet<Holding>;
  readonly lockCount: number;
  readonly watches: SessionWatches;
  readonly admission: Admission;
  readonly znodes: number;
  writesAnswered: number;
}

/** The session attaches anew. `ended` resolves when its first write was answered, or the connection was lost. */
interface Attaching {
  readonly ended: Promise<void>;
  readonly end: () => void;
}

const makesParents: ReadonlySet<string> = new Set(['create', 'createContainer']);

const noTick = { at: Infinity, cancel: ignore };

function newAttaching(): Attaching {
  let end = ignore;
  const ended = new Promise<void>((resolve) => (end = resolve));
  return { ended, end };
}

function ignore(): void {
  // The failure also shows as a change of the session's state.
}
