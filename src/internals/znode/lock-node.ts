import type { LockHost } from '../../client/lock-host.js';
import { inNoContext } from '../../support/no-context.js';
import { Listeners } from '../../support/listeners.js';
import { createEphemeral } from '../../zookeeper/wire/operations.js';
import { checkExists, multi } from '../../zookeeper/wire/transaction.js';
import { join } from '../../zookeeper/wire/path.js';
import type { Session } from '../../zookeeper/session/session.js';
import { ZooKeeperError } from '../../zookeeper/wire/zookeeper-error.js';
import { protectedPrefix, sequenceOf, sortKey, stickyUuid, uuidOf } from '../../driver/names.js';
import { findCreated, fitting, MisfitError, ownCreation } from './own-creation.js';
import { deleteUntilGone, handOver } from './node-deletion.js';
import type { Mark } from './znode-data.js';
import { Newest } from './newest.js';
import { SelfWatch, type OwnZnode } from './self-watch.js';
import { removeLate } from './late-creates.js';
import { mostPathBytes, SessionFullError } from './session-full-error.js';
import { removeStray, resembles, type LostZnode } from './strays.js';
import { reached } from '../../support/reached.js';

/**
 * One znode of this client, from its create until it is gone or its session has ended. The node knows the znode by its
 * uuid, so it can delete the znode whatever happens.
 */
export class LockNode implements OwnZnode {
  readonly session: Session;
  readonly #siblings: SessionNodes;
  readonly #place: NodePlace;
  /** The uuid for the znode's name; '' once the name is known, because the name contains it. */
  #uuid: string;
  // Fields that few znodes need are created on demand, because ten thousand znodes may wait.
  #gones: Listeners<void> | undefined;
  #watch: SelfWatch | undefined;
  #state: NodeState = unsent;
  #deletion: Promise<void> | undefined;
  #role: NodeRole = 'none';
  #follower: LockNode | undefined;

  constructor(session: Session, place: NodePlace) {
    this.session = session;
    this.#siblings = session.companions.of(SessionNodes);
    const uuid = place.host.chance.uuid();
    this.#uuid = place.hasMarkedUuid ? stickyUuid(uuid) : uuid;
    this.#place = place;
  }

  /** True if the last predecessor that the znode waited for belongs to another process. */
  hasWaited = false;

  get host(): LockHost {
    return this.#place.host;
  }

  /** True if the znode holds the lock, or held it. When such a znode is gone, the znode right behind it is first. */
  get wasGranted(): boolean {
    return this.#role === 'granted';
  }

  /** True for the path of a znode whose name is not known yet, if the create may have made it. */
  mayBeAt(path: string): boolean {
    return path.includes(this.#uuid);
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

  /** False if the znode is gone, or another client takes the lock by force. */
  get mayBeGranted(): boolean {
    return !this.isGone && this.mark !== 'force';
  }

  /** The path of the lock's own znode. */
  get lockPath(): string {
    return this.#place.path;
  }

  /**
   * True if both znodes are granted by the same rule. Only then does the grant of one say anything about its place
   * before the other.
   */
  isOfOneKindWith(other: LockNode): boolean {
    return this.#place === other.#place || this.#place.kind.hasRuleOf(other.#place.kind);
  }

  /** The name under the lock's znode; '' while unknown. */
  get name(): string {
    return this.#state.at === 'there' ? this.#state.path.slice(this.#state.path.lastIndexOf('/') + 1) : '';
  }

  get path(): string {
    return this.#state.at === 'there' ? this.#state.path : join(this.#place.path, '');
  }

  /** The sequence number that the server appended to the name; undefined while unknown. */
  get sequence(): number | undefined {
    return this.#state.at === 'there' ? this.#state.sequence : undefined;
  }

  get czxid(): bigint {
    return this.#state.at === 'there' ? this.#state.czxid : -1n;
  }

  /**
   * Sends the create in this tick. Resolves with the znode of this client that the new znode stands right behind, if
   * that can be proven. Rejects with a ZooKeeperError. Only a refusal proves that no znode was created.
   *
   * @throws SessionFullError
   */
  create(data: Uint8Array): Promise<LockNode | undefined> {
    this.#refuseFull();
    const path = join(this.#place.path, protectedPrefix(this.#uuid, this.#place.kind.lockName));
    this.#become(unknown);
    return this.session.request(ownCreation(this.session, path, data, this.host.options.aclFor(path))).then(
      ({ value, zxid }) => {
        const created = fitting(value, zxid, this.session);
        if (typeof created === 'string') return this.#contradicted(path, created);
        this.#appeared(created.path, created.stat.czxid);
        return this.#siblings.newest.rightBefore(this, this.#place.path, value.writes);
      },
      (error: unknown) => this.#failed(error),
    );
  }

  /**
   * As `create`, but at another znode's place in the queue instead of the last one. The new znode is plain ephemeral
   * and is named with the other znode's sequence number, as Curator does since CURATOR-621. One transaction checks that
   * the other znode exists and creates the new one. The other znode stands before all others, so no other client can
   * have been granted the lock from behind it. Resolves with false if the other znode is gone.
   */
  async createAtPlaceOf(other: LockNode, data: Uint8Array): Promise<boolean> {
    this.#refuseFull();
    const name = `${protectedPrefix(this.#uuid, this.#place.kind.lockName)}${sortKey(other.name, other.#place.kind.lockName)}`;
    const path = join(this.#place.path, name);
    // The answer to a transaction's create has no Stat. So the zxid of the answer is used: it is the czxid or a later
    // one.
    const downgrade = multi(checkExists(other.path), createEphemeral(path, data, this.host.options.aclFor(path)));
    this.#become(unknown);
    const { value, zxid } = await this.session.request(downgrade).catch((error: unknown) => this.#failed(error));
    if (value.is === 'done') {
      const [, created] = value.results;
      if (created !== path) this.#contradicted(path, `it is ${created}`);
      this.#siblings.newest.forget(this.#place.path);
      this.#appeared(path, zxid);
      return true;
    }
    this.#become(unsent);
    if (!value.errors[0]?.is('NO_NODE')) throw value.error;
    other.foundMissing();
    return false;
  }

  #refuseFull(): void {
    const { znodes, pathBytes } = this.session;
    if (pathBytes + this.#pathBytes > mostPathBytes) throw new SessionFullError(this.#place.path, znodes, pathBytes);
  }

  /** The bytes of the znode's path in the transaction that ends the session, with its length in front. */
  get #pathBytes(): number {
    const { host, path, kind } = this.#place;
    return Buffer.byteLength(host.report.onServers(path)) + kind.lockName.length + bytesAround;
  }

  #contradicted(path: string, why: string): never {
    this.#become(contradicted);
    const { report } = this.host;
    const text = `The answer to the create of ${report.onServers(path)} does not fit: ${why}; searching for the znode`;
    report.warn(text, undefined);
    throw new MisfitError(text);
  }

  #failed(error: unknown): never {
    if (error instanceof ZooKeeperError && error.isDefinite) this.#become(unsent);
    throw error;
  }

  /**
   * Searches for the znode after the answer to its create was lost. Resolves with true if the znode exists and belongs
   * to this session.
   */
  async find(): Promise<boolean> {
    const lost = this.#lost(this.#uuid, this.#state === contradicted ? 'anywhere' : 'alike');
    const { names, created } = await findCreated(this.session, lost.parent, lost.uuid);
    if (created) {
      this.#siblings.newest.forget(lost.parent);
      this.#appeared(created.path, created.stat.czxid);
    } else {
      const mayBeThere = (name: string): boolean => resembles(join(lost.parent, name), lost.asked);
      if (lost.stands === 'anywhere' || names.some(mayBeThere)) removeStray(this.session, lost);
      removeLate(this.session, lost);
      this.markDeleted();
    }
    this.host.report.background({ type: 'create-searched', path: lost.asked, found: created !== undefined });
    if (created && created.stat.ephemeralOwner !== this.session.id)
      reached('create: the znode belongs to another session');
    // CURATOR-604: a znode that another session created must be deleted, never held.
    return created?.stat.ephemeralOwner === this.session.id;
  }

  /** The servers say that the znode is gone, without an event. It may stand under another name than this client knows. */
  foundMissing(): void {
    const uuid = uuidOf(this.name);
    const lost = uuid === undefined ? undefined : this.#lost(uuid, 'same-uuid');
    this.markDeleted();
    if (lost) removeStray(this.session, lost);
  }

  #lost(uuid: string, stands: LostZnode['stands']): LostZnode {
    const { path: parent, kind, host } = this.#place;
    return {
      parent,
      asked: join(parent, protectedPrefix(uuid, kind.lockName)),
      uuid,
      stands,
      isOfOther: (path) => this.#siblings.has(path),
      host,
    };
  }

  /**
   * Reports the znode's own deletion within one event, whichever client deleted it, and the marks that others write
   * into it.
   */
  get watch(): SelfWatch {
    return (this.#watch ??= new SelfWatch(this));
  }

  /** True if the znode cannot have been deleted without an event to this process. */
  get isDeletionWatched(): boolean {
    return this.#watch?.isDeletionWatched ?? false;
  }

  /** The last mark that was read from the znode. The watch reads the marks. */
  get mark(): Mark | undefined {
    return this.#watch?.mark;
  }

  /** Another client takes the lock by force. */
  forced(): void {
    this.#wake('recheck');
  }

  onGone(listener: () => void): () => void {
    if (this.isGone) listener();
    this.#gones ??= new Listeners();
    return this.#gones.add(listener);
  }

  /**
   * Wakes `waiter` once, when it may have something to do: the znode is gone or must be given up, or its session has
   * ended, or the predecessor that it follows is gone or has handed the lock over.
   */
  wait(waiter: { wake(reason: WakeReason): void }): void {
    this.#role = waiter;
    if (this.isGone || this.session.isEnded) this.#wake('recheck');
  }

  /** Removes the waiter. */
  waitNoMore(): void {
    if (typeof this.#role === 'object') this.#role = 'none';
  }

  /**
   * Links this znode behind its predecessor, a znode of the same session. This znode takes over the lock when the
   * holder releases.
   */
  follow(predecessor: LockNode): void {
    if (predecessor.isGone) this.#wake(predecessor.wasGranted ? 'holder-deleted' : 'predecessor-deleted');
    else predecessor.#follower = this;
  }

  /**
   * The number of steps from this znode to `node`, each step from a znode of this process to its follower. Undefined if
   * the chain ends before `node`, or is very long.
   */
  stepsTo(node: LockNode): number | undefined {
    let steps = 0;
    for (let at: LockNode | undefined = this.#follower; at && steps < mostSteps; at = at.#follower) {
      steps += 1;
      if (at === node) return steps;
    }
    return undefined;
  }

  /** The session has ended: the waiter must start over. A watch that is due must not keep a closed client's process. */
  sessionEnded(): void {
    this.#watch?.cancel();
    this.#wake('recheck');
  }

  #wake(reason: WakeReason): void {
    if (typeof this.#role !== 'object') return;
    const waiter = this.#role;
    this.#role = 'none';
    waiter.wake(reason);
  }

  /**
   * Releases the lock. If the znode right behind belongs to a waiter of this process, that waiter gets the lock at
   * once. This znode stands for that lock until the servers have answered one transaction, which deletes this znode and
   * checks that the successor's znode exists. Resolves as `delete` does.
   */
  handOverOrDelete(): Promise<void> {
    const next = this.#follower;
    if (
      next === undefined ||
      typeof next.#role !== 'object' ||
      this.#deletion ||
      this.#state.at !== 'there' ||
      !this.session.isConnected
    )
      return this.delete();
    this.#watch?.cancel();
    if (this.session.isStale) reached('handed over in a stale session');
    this.#deletion = inNoContext(() => handOver(this, next));
    next.#wake('handed-over');
    return this.#deletion;
  }

  /** Deletes the znode in the background. Resolves when the znode is gone or its session has ended. Never rejects. */
  delete(): Promise<void> {
    this.#watch?.cancel();
    // The deletion may take as long as an outage. So it must not keep the caller's context alive.
    this.#deletion ??= inNoContext(() => deleteUntilGone(this));
    return this.#deletion;
  }

  /** False if the znode is gone, or its session has ended: then there is nothing to delete. */
  mayBeThere(): boolean {
    return !this.session.isEnded && this.#state.isOnServers;
  }

  /** True if the create was sent, and its answer is outstanding or lost. */
  get isUnknown(): boolean {
    return this.#state.at === 'unknown';
  }

  /** Nothing is left to delete: the znode is gone, or goes with its session. */
  deletionEnded(): void {
    this.#end(this.#state.isOnServers ? left : gone);
  }

  #appeared(path: string, czxid: bigint): void {
    this.#uuid = '';
    this.#become({
      at: 'there',
      isOnServers: true,
      path,
      czxid,
      sequence: sequenceOf(path, this.#place.kind.lockName),
    });
    this.#siblings.byPath.set(path, this);
  }

  #become(state: NodeState): void {
    if (state.isOnServers !== this.#state.isOnServers) {
      this.session.znodes += state.isOnServers ? 1 : -1;
      this.session.pathBytes += state.isOnServers ? this.#pathBytes : -this.#pathBytes;
    }
    if (state.at === 'unknown') this.#siblings.unnamed.add(this);
    else if (this.#state.at === 'unknown') this.#siblings.unnamed.delete(this);
    this.#state = state;
  }

  /** The znode is gone, whichever client deleted it, or it was never created. */
  markDeleted(): void {
    this.#end(gone);
  }

  #end(state: NodeState): void {
    if (this.#state.at === 'gone') return;
    this.#watch?.end();
    if (this.#state.at === 'there') this.#siblings.byPath.delete(this.path);
    this.#become(state);
    this.#wake('recheck');
    this.#gones?.tell();
    const follower = this.#follower;
    this.#follower = undefined;
    if (follower) follower.#wake(this.wasGranted ? 'holder-deleted' : 'predecessor-deleted');
  }
}

/** The znode's role in the queue. An object is a waiter that can be woken. Once 'granted', the role stays 'granted'. */
type NodeRole = 'none' | { wake(reason: WakeReason): void } | 'granted';

/** `isOnServers`: the znode exists, or may exist. */
type NodeState =
  /** `unknown`: the create was sent. Its answer is outstanding or lost. */
  { readonly at: 'unsent' | 'unknown' | 'gone'; readonly isOnServers: boolean } | There;

interface There {
  readonly at: 'there';
  readonly isOnServers: true;
  readonly path: string;
  readonly czxid: bigint;
  readonly sequence: number | undefined;
}

/** The length, the slash, `_c_` and the uuid, and the number. */
const bytesAround = 4 + 1 + '_c_'.length + 36 + 1 + 10;

const unsent: NodeState = { at: 'unsent', isOnServers: false };

const unknown: NodeState = { at: 'unknown', isOnServers: true };

/** The answer does not fit, so the znode may have another name than any that this client knows. */
const contradicted: NodeState = { at: 'unknown', isOnServers: true };

const gone: NodeState = { at: 'gone', isOnServers: false };

/** The session ended in this process before the znode was deleted. Its end on the servers deletes the znode. */
const left: NodeState = { at: 'gone', isOnServers: true };

/**
 * The reason why a waiter is woken. `recheck`: the waiter must read the queue again. `predecessor-deleted`: its
 * predecessor is gone. `holder-deleted`: its predecessor is gone and held the lock. `all-deleted`: every znode that a
 * list showed before the waiter is gone. `handed-over`: the waiter has the lock, by a transaction that checks that its
 * znode exists.
 */
export type WakeReason = 'recheck' | 'predecessor-deleted' | 'holder-deleted' | 'all-deleted' | 'handed-over';

/** The kind of lock that a znode belongs to. */
export interface NodeKind {
  /** The text before the sequence number in the names of the znodes that this kind creates. */
  readonly lockName: string;
  /**
   * True if both kinds grant by the same rule. Only then does one znode's grant say anything about its place before the
   * other.
   */
  hasRuleOf(other: NodeKind): boolean;
}

/** The properties that all znodes of one lock in one client share. */
export interface NodePlace {
  readonly path: string;
  readonly kind: NodeKind;
  /**
   * True if the znodes' names carry the mark of {@link stickyUuid}, which distinguishes them from the znodes of other
   * clients: those of a sticky lock, which may stay, and those of a semaphore's leases.
   * @default false
   */
  readonly hasMarkedUuid?: boolean;
  readonly host: LockHost;
}

/** A limit, because ten thousand waiters may give up at the same moment. */
const mostSteps = 1_000;

/** The existing znodes of one session. */
class SessionNodes {
  readonly byPath = new Map<string, LockNode>();
  readonly newest = new Newest<LockNode>();
  /** The znodes whose creates were sent, and whose names are not known yet. */
  readonly unnamed = new Set<LockNode>();

  constructor(session: Session) {
    session.onChange(() => {
      if (session.isEnded) for (const node of [...this.byPath.values()]) node.sessionEnded();
    });
  }

  /** True if the path is that of one of these znodes, or may be. */
  has(path: string): boolean {
    return this.byPath.has(path) || [...this.unnamed].some((node) => node.mayBeAt(path));
  }
}

/** This process's znodes of one session, by path. A waiter for one of them needs no watch. */
export function nodesOf(session: Session): Map<string, LockNode> {
  return session.companions.of(SessionNodes).byPath;
}
