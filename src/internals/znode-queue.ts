import { RecentKeys } from '../client/report/recent-keys.js';
import { SequenceOverflowError } from './lock-errors.js';
import type { Session } from '../zookeeper/session/session.js';
import { checkServers } from '../zookeeper/wire/transaction.js';
import { isRetryable, isZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { isSequenceNearOverflow } from '../driver/names.js';
import { LockNode, type NodePlace } from './znode/lock-node.js';
import { MisfitError } from './znode/own-creation.js';
import type { QueueKind, QueueView } from './queue-view.js';
import type { Deadline } from '../support/deadline.js';
import { CreateGates, type CreateGate } from './create-gate.js';
import { Retries } from './retries.js';
import { reached } from '../support/reached.js';

/** The queue of one lock on the servers: creates znodes below the lock's znode, and reads the queue. */
export class ZnodeQueue {
  readonly #lock: InternalLock;
  readonly #place: NodePlace;
  readonly #gates: CreateGates;
  /**
   * True if the last znode was created right behind another znode of this client. Then the next znode probably needs no
   * list either, and no list is sent with its create. With 64 and 512 callers of one client, that gives a fifth and a
   * third more cycles per second of CPU (`node bench/two-builds.mjs`, `--only threads`).
   */
  #canSkipList = false;

  constructor(lock: InternalLock) {
    this.#lock = lock;
    const { host, path, kind, hasMarkedUuid = false } = lock;
    this.#place = { host, path, kind, hasMarkedUuid };
    this.#gates = lock.host.companions.of(CreateGates);
  }

  newNode(session: Session): LockNode {
    return new LockNode(session, this.#place);
  }

  /**
   * Creates the znode, and its parents if they are missing. In the same flush, reads the queue if the znode's place
   * cannot be known without that.
   *
   * @throws SequenceOverflowError when all sequence numbers of the lock are used up
   */
  async join(node: LockNode, deadline: Deadline, data: Uint8Array): Promise<Joined> {
    const { session } = node;
    let parents: { errors: Promise<unknown[]> } | undefined;
    let retries: Retries | undefined;
    let ownSteps = 0;
    // The requests below are sent as soon as the session has attached, because the znode may be first at once.
    if (session.isStale) void session.attach();
    let gate = this.#gates.closedAt(this.#lock.path);
    if (gate) await gate.wait(deadline);
    let own: CreateGate | undefined;
    try {
      for (;;) {
        const created = node.create(data);
        // A try that may not wait always needs the view, because the view shows whether the lock is free.
        const asked = this.#canSkipList && deadline.mayWait ? undefined : this.read(session);
        asked?.catch(() => {}); // It is awaited below, and fails there.
        if (own) this.#settleBehind(created, own);
        own = undefined;
        gate?.letNextGo();
        gate = undefined;
        try {
          const right = await created;
          this.#refuseOverflow(node);
          const before = deadline.mayWait ? this.#usable(right, node) : undefined;
          this.#canSkipList = before !== undefined;
          if (before && !before.isGone) return { is: 'right behind', before: before.path };
          // If the predecessor held the lock and has released it, no znode is before this one.
          if (before?.wasGranted && !asked) return { is: 'behind holder' };
          return { is: 'created', view: before && !asked ? undefined : await (asked ?? this.read(session)) };
        } catch (error) {
          if (error instanceof MisfitError) return { is: 'contradicted' };
          if (isRetryable(error)) {
            reached('create: the answer was lost');
            if (!(await this.findAgain(node, deadline))) return { is: 'not created' };
            this.#refuseOverflow(node);
            return { is: 'created', view: undefined };
          }
          if (!isZooKeeperError(error, 'NO_NODE')) throw error;
          // A parent that the servers deleted between its creation and this create is not an error: the create is tried
          // again (CURATOR-180).
          const [why] = parents ? await parents.errors : [];
          if (why instanceof Error) throw why;
          if (ownSteps > 0) reached('create: the parent is gone again');
          if (ownSteps > 0) await (retries ??= new Retries(this.#lock.host)).pause(deadline, error, ownSteps - 1);
          deadline.check();
          const inTheWay = this.#gates.closedAt(this.#lock.path);
          if (inTheWay) {
            await inTheWay.wait(deadline, 'refused');
            gate = inTheWay;
          } else {
            // Closed in the same step in which it was found open. The answers to the other creates arrive right behind
            // the answer to this one.
            own = this.#gates.close(this.#lock.path);
            gate = own;
            ownSteps += 1;
            parents = await this.#sendParents(session);
          }
        }
      }
    } finally {
      own?.settle();
      gate?.letNextGo();
    }
  }

  /** Deferred by one event-loop turn, so that answers from the same socket read are processed first. */
  #settleBehind(sent: Promise<unknown>, gate: CreateGate): void {
    const settle = (): void => this.#lock.host.clock.afterPoll(() => gate.settle());
    sent.then(settle, settle);
  }

  /** Resolves with true if the znode exists, after the answer to its create was lost. */
  async findAgain(node: LockNode, deadline: Deadline): Promise<boolean> {
    const { session } = node;
    const retries = new Retries(this.#lock.host);
    for (;;) {
      if (!deadline.mayWait && !session.isConnected) return false;
      if (!(await session.whenConnected(deadline))) return false;
      try {
        return await node.find();
      } catch (error) {
        if (!isRetryable(error)) throw error;
        if (!error.is('CONNECTION_LOSS')) await retries.pause(deadline, error);
      }
    }
  }

  /**
   * Reads the queue. If there is no connection, waits for the next connection of this session. Resolves with undefined
   * if the session has ended, or the answer was lost.
   *
   * @param behind the request that is sent before the read, so that the answer has seen it
   */
  async readAgain(session: Session, deadline: Deadline, behind: Behind): Promise<QueueView | undefined> {
    if (!(await session.whenConnected(deadline))) return undefined;
    if (behind === 'sync') session.catchUp(this.#lock.path);
    const written = behind === 'write' ? session.request(checkServers()) : undefined;
    written?.catch(() => {}); // It is awaited below, and fails there.
    const view = await this.read(session);
    return written
      ? written.then(({ wasPostponed }) => (wasPostponed ? this.read(session) : view), unlessRetryable)
      : view;
  }

  /** Reads the queue. Resolves with undefined if the answer was lost. */
  async read(session: Session): Promise<QueueView | undefined> {
    return this.#lock.kind.read(session).catch(unlessRetryable);
  }

  /** True if a new znode stands behind all others, so that a znode that is created later is never before this one. */
  isAppendOnly({ sequence }: LockNode): boolean {
    return this.#lock.kind.appendOnly && sequence !== undefined && !isSequenceNearOverflow(sequence);
  }

  /** After 2^31 znodes the sequence numbers become negative, and each new znode would stand before the holder. */
  #refuseOverflow({ name, sequence }: LockNode): void {
    // ClickHouse Keeper goes on above 2^31, with numbers that no other server and no client knows.
    if (sequence === undefined ? /\d{10}$/.test(name) : sequence < 0)
      throw new SequenceOverflowError(this.#lock.path, name);
    if (sequence === undefined || !isSequenceNearOverflow(sequence)) return;
    if (!this.#lock.host.companions.of(Overflows).isNew(this.#lock.path)) return;
    this.#lock.host.report.warn(
      `The lock ${this.#lock.path} is close to its last sequence number (${name}): delete ${this.#lock.path} while no process uses the lock`,
      undefined,
    );
  }

  /** Returns the znode of this process right before `node`, if its place proves the place of `node`. */
  #usable(before: LockNode | undefined, node: LockNode): LockNode | undefined {
    const { kind, listener } = this.#lock;
    // Only a view of the queue contains the position.
    if (
      before === undefined ||
      !kind.isFirstComeFirstServed ||
      listener?.wantsPosition ||
      !this.isAppendOnly(node) ||
      !before.isOfOneKindWith(node)
    )
      return undefined;
    return before;
  }

  async #sendParents(session: Session): Promise<{ errors: Promise<unknown[]> }> {
    try {
      return await this.#lock.host.parents.send(session, this.#lock.path, (path) =>
        this.#lock.host.options.aclForParents(path, this.#lock.path),
      );
    } catch (error) {
      // A server that does not support containers has closed the connection. The create that follows fails, and is
      // tried again.
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) return { errors: Promise.resolve([]) };
      throw error;
    }
  }
}

/** The locks whose last sequence numbers this client has logged: once for each path, however many objects it has. */
class Overflows extends RecentKeys {}

/** One lock, as its znodes stand in its queue. */
export interface InternalLock extends NodePlace {
  readonly kind: QueueKind;
  /** Returns the data for the next znode. */
  readonly data: () => Uint8Array;
  /** Told once for each znode that has to wait. */
  readonly listener?: QueuedListener | undefined;
}

export interface QueuedListener {
  /**
   * True if the position is wanted even where it costs one more request, because only a view of the queue contains it.
   */
  readonly wantsPosition: boolean;
  /** Reports the number of znodes before the waiter's znode, as far as known, the path of that znode, and the call. */
  queued(position: number | undefined, path: string, deadline: Deadline): void;
}

/** The known place of a znode after its create. */
export type Joined =
  | { readonly is: 'not created' }
  /** The answer does not fit: the caller must give the znode up. */
  | { readonly is: 'contradicted' }
  /** The view is undefined if its answer was lost. */
  | { readonly is: 'created'; readonly view: QueueView | undefined }
  /** No other znode is between this one and the one at the path `before`, a znode of the same process. */
  | { readonly is: 'right behind'; readonly before: string }
  /** As `right behind`, and that znode held the lock and is gone: no znode is before this one. */
  | { readonly is: 'behind holder' };

/**
 * The request that is sent before a read, so that the answer has seen it. A `sync` makes a lagging server catch up.
 * Only a quorum `write` shows what happened to a write whose answer was lost.
 */
export type Behind = 'nothing' | 'sync' | 'write';

function unlessRetryable(error: unknown): undefined {
  if (!isRetryable(error)) throw error;
}
