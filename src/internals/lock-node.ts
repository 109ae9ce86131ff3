import { randomUUID } from 'node:crypto';
import type { BackgroundEvent } from '../client/background-event.js';
import type { Clock } from '../support/clock.js';
import { inNoContext } from '../support/no-context.js';
import { Listeners } from '../support/listeners.js';
import {
  checkExists,
  createEphemeral,
  createSequential,
  multi,
  remove,
  type AclEntry,
} from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import type { Reader } from '../zookeeper/wire.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { protectedPrefix, sequenceOf, sortKey, stickyUuid } from '../driver/names.js';
import { findCreated } from './find-created.js';
import type { Mark } from './mark.js';
import { Newest } from './newest.js';
import type { QueueKind } from './queue-view.js';
import { SelfWatch, type Watched } from './self-watch.js';

/**
 * One znode of ours, from its create until it is gone or its session is over: whatever happens, somebody knows it by
 * its
 * uuid and deletes it.
 */
export class LockNode implements Watched {
  readonly session: Session;
  readonly #place: NodePlace;
  /** Until its name is known, which has it. */
  #uuid: string;
  // What few znodes have is made when it is needed: ten thousand may wait.
  #gones: Listeners<void> | undefined;
  #watch: SelfWatch | undefined;
  #state: NodeState = unsent;
  #leaving: Promise<void> | undefined;
  #role: NodeRole = 'none';
  #follower: LockNode | undefined;

  constructor(session: Session, place: NodePlace) {
    this.session = session;
    this.#uuid = place.hasMarkedUuid ? stickyUuid(randomUUID()) : randomUUID();
    this.#place = place;
  }

  /** What it was created with. */
  data: Uint8Array | undefined;
  /** Whether it was somebody of another process whom it waited for last. */
  hasWaited = false;

  get tools(): NodeTools {
    return this.#place.tools;
  }

  /** It has the lock, or had it: the znode right behind it is next when it is gone. */
  get wasGranted(): boolean {
    return this.#role === 'granted';
  }

  granted(): void {
    this.#role = 'granted';
  }

  get isThere(): boolean {
    return this.#state.at === 'there';
  }

  get isGone(): boolean {
    return this.#state.at === 'gone';
  }

  /** Whether both are let in by the same rules: only then does one's grant say anything of who is before the other. */
  isOfOneKindWith(other: LockNode): boolean {
    return this.#place.kind.hasRuleOf(other.#place.kind);
  }

  /** The name under the lock's znode; '' while it is not known. */
  get name(): string {
    return this.#state.at === 'there' ? this.#state.path.slice(this.#state.path.lastIndexOf('/') + 1) : '';
  }

  get path(): string {
    return this.#state.at === 'there' ? this.#state.path : join(this.#place.path, '');
  }

  /** The number that the server has given it; undefined while it is not known. */
  get sequence(): number | undefined {
    return this.#state.at === 'there' ? this.#state.sequence : undefined;
  }

  get czxid(): bigint {
    return this.#state.at === 'there' ? this.#state.czxid : -1n;
  }

  /**
   * Sends the create in this tick. Resolves with the znode of ours that it comes right behind, if that can be proven.
   * Rejects with a ZooKeeperError; only
   * a refusal says that nothing was created.
   */
  create(data: Uint8Array, aclFor: (path: string) => readonly AclEntry[]): Promise<LockNode | undefined> {
    const path = join(this.#place.path, protectedPrefix(this.#uuid, this.#place.kind.lockName));
    const creation = createSequential(path, data, aclFor(path));
    this.data = data;
    // Counted while the answer is read: by the time that the promise resolves, further answers may have been read.
    const counted = {
      ...creation,
      read: (from: Reader) => ({ created: creation.read(from), writes: this.session.writesAnswered }),
    };
    this.#become(unknown);
    return this.session.request(counted).then(
      ({ value: { created, writes } }) => {
        this.#appeared(created.path, created.stat.czxid);
        return this.#siblings.newest.rightBefore(this, this.#place.path, writes);
      },
      (error: unknown) => this.#failed(error),
    );
  }

  /**
   * As `create`, in another znode's place of the queue instead of the last one: plain ephemeral, named with its
   * sequence, as Curator does since
   * CURATOR-621. Only if that znode is there, in one transaction: it stands in front of all others, so from its place
   * nobody else can have been let
   * in. Answers false when it is gone.
   */
  async createAtPlaceOf(
    other: LockNode,
    data: Uint8Array,
    aclFor: (path: string) => readonly AclEntry[],
  ): Promise<boolean> {
    const name = `${protectedPrefix(this.#uuid, this.#place.kind.lockName)}${sortKey(other.name, other.#place.kind.lockName)}`;
    const path = join(this.#place.path, name);
    this.data = data;
    // A transaction's create is answered without its Stat, so the answer's zxid has to do: it is the czxid, or a later
    // one.
    const downgrade = multi(checkExists(other.path), createEphemeral(path, data, aclFor(path)));
    this.#become(unknown);
    const { value, zxid } = await this.session.request(downgrade).catch((error: unknown) => this.#failed(error));
    if (value.is === 'done') {
      this.#siblings.newest.forget(this.#place.path);
      this.#appeared(path, zxid);
      return true;
    }
    this.#become(unsent);
    if (!value.errors[0]?.is('NO_NODE')) throw value.error;
    other.markDeleted();
    return false;
  }

  #failed(error: unknown): never {
    if (error instanceof ZooKeeperError && error.isDefinite) this.#become(unsent);
    throw error;
  }

  /** After a lost answer: was it created, and is it ours to hold? */
  async find(): Promise<boolean> {
    const path = join(this.#place.path, protectedPrefix(this.#uuid, this.#place.kind.lockName));
    const found = await findCreated(this.session, this.#place.path, this.#uuid);
    if (found) {
      this.#siblings.newest.forget(this.#place.path);
      this.#appeared(found.path, found.stat.czxid);
    } else {
      this.markDeleted();
    }
    this.tools.report({ type: 'create-searched', path, found: found !== undefined });
    // CURATOR-604: what another session created is not ours to hold, only to delete.
    return found?.stat.ephemeralOwner === this.session.id;
  }

  get #siblings(): SessionNodes {
    return this.session.companions.of(SessionNodes);
  }

  /** Hears of its own deletion, by whomever, within one event; and of who asks for it. */
  get watch(): SelfWatch {
    return (this.#watch ??= new SelfWatch(this));
  }

  /** Whether nobody can have deleted it without a word to us. */
  get isDeletionWatched(): boolean {
    return this.#watch?.isDeletionWatched ?? false;
  }

  /** What was asked of it last, as far as was heard; it is watched for that. */
  get mark(): Mark | undefined {
    return this.#watch?.mark;
  }

  /** Somebody takes the lock by force. */
  forced(): void {
    this.#wake('recheck');
  }

  onGone(listener: () => void): () => void {
    if (this.isGone) listener();
    this.#gones ??= new Listeners();
    return this.#gones.add(listener);
  }

  /**
   * Wakes `waiter` once, when there may be something to do: the znode is gone, or it is to be given up, or its session
   * is over; or the predecessor that
   * it follows has gone, or has handed over.
   */
  wait(waiter: { wake(reason: WakeReason): void }): void {
    this.#role = waiter;
    if (this.isGone || this.session.isEnded) this.#wake('recheck');
  }

  /** Nobody waits with it any more. */
  waitNoMore(): void {
    if (typeof this.#role === 'object') this.#role = 'none';
  }

  /**
   * Links it behind the one right before it, a znode of the same session: it takes the lock over when that one's holder
   * lets go.
   */
  follow(predecessor: LockNode): void {
    if (predecessor.isGone) this.#wake(predecessor.wasGranted ? 'holder-deleted' : 'predecessor-deleted');
    else predecessor.#follower = this;
  }

  /**
   * How many steps it is from one of this process's znodes to the next until `node`; undefined where the line ends
   * before, or is very long.
   */
  stepsTo(node: LockNode): number | undefined {
    let steps = 0;
    for (let at: LockNode | undefined = this.#follower; at && steps < mostSteps; at = at.#follower) {
      steps += 1;
      if (at === node) return steps;
    }
    return undefined;
  }

  /** The session has ended: who waits has to start over. */
  sessionEnded(): void {
    this.#wake('recheck');
  }

  #wake(reason: WakeReason): void {
    if (typeof this.#role !== 'object') return;
    const waiter = this.#role;
    this.#role = 'none';
    waiter.wake(reason);
  }

  /**
   * The holder lets go. Who waits right behind it in this process has the lock at once: this znode stands for it until
   * the servers have
   * answered one transaction that deletes it and checks that the successor's is there. Resolves as `delete` does.
   */
  handOverOrDelete(): Promise<void> {
    const next = this.#follower;
    if (
      next === undefined ||
      typeof next.#role !== 'object' ||
      this.#leaving ||
      this.#state.at !== 'there' ||
      !this.session.isConnected
    )
      return this.delete();
    this.#watch?.cancel();
    this.#leaving = inNoContext(() => this.#handOverTo(next));
    next.#wake('handed-over');
    return this.#leaving;
  }

  /** Deletes it in the background; resolves when it is gone or its session is over. Never rejects. */
  delete(): Promise<void> {
    this.#watch?.cancel();
    // It may take as long as an outage does: whoever let go must not be kept alive by it.
    this.#leaving ??= inNoContext(() => this.#deleteUntilGone());
    return this.#leaving;
  }

  async #handOverTo(next: LockNode): Promise<void> {
    try {
      const { value } = await this.session.request(multi(checkExists(next.path), remove(this.path)));
      const [ofNext, ofThis] = value.is === 'done' ? [] : value.errors;
      if (ofNext?.is('NO_NODE')) next.markDeleted();
      else if (value.is === 'done' || ofThis?.is('NO_NODE')) this.markDeleted();
    } catch {
      // As after any other failed delete: tried again until it is gone.
    }
    await this.#deleteUntilGone();
  }

  async #deleteUntilGone(): Promise<void> {
    for (let tries = 0; this.#mayBeThere(); tries += 1) {
      try {
        if (this.#state.at === 'unknown') await this.find();
        if (this.#mayBeThere()) await this.session.request(remove(this.path));
        this.markDeleted();
      } catch (error) {
        if (isZooKeeperError(error, 'NO_NODE')) this.markDeleted();
        else if (isZooKeeperError(error, 'CONNECTION_LOSS')) await this.session.whenConnected();
        else if (this.#mayBeThere()) await this.#pause(tries, error);
      }
    }
    this.markDeleted();
  }

  #mayBeThere(): boolean {
    return !this.session.isEnded && isOnServers(this.#state);
  }

  #pause(tries: number, error: unknown): Promise<void> {
    this.tools.report({ type: 'delete-retried', path: this.path, error });
    this.tools.warn(
      `A lock's znode under ${this.tools.onServers(this.#place.path)} could not be deleted; trying again`,
      error,
    );
    return new Promise((resolve) => {
      const finish = (): void => {
        cancel();
        stop();
        resolve();
      };
      const cancel = this.tools.clock.after(Math.min(slowestRetryMs, 100 * 2 ** Math.min(tries, 10)), finish);
      const stop = this.session.onChange(() => this.session.isEnded && finish());
    });
  }

  #appeared(path: string, czxid: bigint): void {
    this.#uuid = '';
    this.#become({ at: 'there', path, czxid, sequence: sequenceOf(path, this.#place.kind.lockName) });
    this.#siblings.byPath.set(path, this);
  }

  #become(state: NodeState): void {
    this.session.znodes += Number(isOnServers(state)) - Number(isOnServers(this.#state));
    this.#state = state;
  }

  /** It is gone, whoever has deleted it; or it was never created. */
  markDeleted(): void {
    if (this.#state.at === 'gone') return;
    this.#watch?.end();
    if (this.#state.at === 'there') this.#siblings.byPath.delete(this.path);
    this.#become(gone);
    this.#wake('recheck');
    this.#gones?.tell();
    const follower = this.#follower;
    this.#follower = undefined;
    if (follower) follower.#wake(this.wasGranted ? 'holder-deleted' : 'predecessor-deleted');
  }
}

/** What it does in the queue: its waiter can be woken; once granted, it stays so. */
type NodeRole = 'none' | { wake(reason: WakeReason): void } | 'granted';

type NodeState =
  | { readonly at: 'unsent' }
  /** The create was sent, and its answer is outstanding or lost. */
  | { readonly at: 'unknown' }
  | There
  | { readonly at: 'gone' };

interface There {
  readonly at: 'there';
  readonly path: string;
  readonly czxid: bigint;
  readonly sequence: number | undefined;
}

/** It is there, or may be. */
function isOnServers({ at }: NodeState): boolean {
  return at === 'there' || at === 'unknown';
}

const unsent: NodeState = { at: 'unsent' };

const unknown: NodeState = { at: 'unknown' };

const gone: NodeState = { at: 'gone' };

/** What a znode needs of its client. */
export interface NodeTools {
  warn(message: string, error: unknown): void;
  report(event: BackgroundEvent): void;
  /** A path as the servers know it, for logs. */
  onServers(path: string): string;
  readonly clock: Pick<Clock, 'after' | 'now'>;
}

/**
 * Why a waiter is woken. `recheck`: look again. `predecessor-deleted`, `holder-deleted`: its predecessor is gone; the
 * second had the lock. `handed-over`: it has the lock,
 * by a transaction that checks that its znode is there.
 */
export type WakeReason = 'recheck' | 'predecessor-deleted' | 'holder-deleted' | 'handed-over';

/** What all znodes of one lock in one client have in common. */
export interface NodePlace {
  readonly path: string;
  readonly kind: QueueKind;
  /** The names of its znodes tell other clients of this library what {@link stickyUuid} marks. */
  readonly hasMarkedUuid: boolean;
  readonly tools: NodeTools;
}

const slowestRetryMs = 5_000;

/** Ten thousand waiters may give up in one moment. */
const mostSteps = 1_000;

/** The znodes of one session that are there. */
class SessionNodes {
  readonly byPath = new Map<string, LockNode>();
  readonly newest = new Newest<LockNode>();

  constructor(session: Session) {
    session.onChange(() => {
      if (session.isEnded) for (const node of [...this.byPath.values()]) node.sessionEnded();
    });
  }
}

/** This process's znodes of one session, by path: a waiter for one of them needs no watch. */
export function nodesOf(session: Session): Map<string, LockNode> {
  return session.companions.of(SessionNodes).byPath;
}
