import { SequenceOverflowError, type RequestFailedError } from './lock-errors.js';
import { requestFailed } from './refusal.js';
import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import { checkServers } from '../zookeeper/operations.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { isSequenceNearOverflow } from '../driver/names.js';
import { LockNode, type NodePlace } from './lock-node.js';
import type { QueueKind, QueueView } from './queue-view.js';
import type { Deadline } from '../support/deadline.js';
import { CreateGates, type CreateGate } from './create-gate.js';
import { Retries } from './retries.js';

/** A lock's children on the servers: to create a znode among them, and to read the queue. */
export class ZnodeQueue {
  readonly client: LockClient;
  readonly path: string;
  readonly options: LockInternalsOptions;
  readonly #place: NodePlace;
  /**
   * The last znode came right behind another one of ours: then the next one may do without a list, too, and none is
   * sent along.
   */
  #isOursAlone = false;
  #hasWarnedOfOverflow = false;

  constructor(client: LockClient, path: string, options: LockInternalsOptions) {
    this.client = client;
    this.path = path;
    this.options = options;
    this.#place = { path, kind: options.kind, hasMarkedUuid: options.hasMarkedUuid ?? false, tools: client };
  }

  newNode(session: Session): LockNode {
    return new LockNode(session, this.#place);
  }

  /**
   * Creates the znode, with its parents where they are missing, and, in the same flush, asks for the view of the queue
   * that shows where it stands, if that is needed.
   *
   * @param data what is written into it instead of the lock's usual data
   */
  async join(node: LockNode, deadline: Deadline, data?: Uint8Array): Promise<Joined> {
    const { session } = node;
    let parents = { errors: Promise.resolve<unknown[]>([]) };
    let retries: Retries | undefined;
    let ownSteps = 0;
    const gates = this.client.companions.of(CreateGates);
    let gate = gates.closedAt(this.path);
    if (gate) await gate.turn(deadline);
    let own: CreateGate | undefined;
    try {
      for (;;) {
        const sent = this.#createAndRead(node, deadline, data);
        if (own) this.#settleBehind(sent, own);
        own = undefined;
        gate?.letNextGo();
        gate = undefined;
        try {
          return await sent;
        } catch (error) {
          if (error instanceof ZooKeeperError && error.isRetryable) {
            return (await this.findAgain(session, node, deadline))
              ? { is: 'created', view: undefined }
              : { is: 'not created' };
          }
          if (!isZooKeeperError(error, 'NO_NODE')) throw error;
          // Told apart from a parent that was reaped between its creation and ours (CURATOR-180), which is tried again.
          const [why] = await parents.errors;
          if (why instanceof Error) throw why;
          if (ownSteps > 0) await (retries ??= new Retries(this.client)).pause(deadline, error, ownSteps - 1);
          deadline.check();
          const inTheWay = gates.closedAt(this.path);
          if (inTheWay) {
            await inTheWay.turn(deadline, 'refused');
            gate = inTheWay;
          } else {
            // Closed in the same step that found it open: the answers to others come right behind ours.
            own = gates.close(this.path);
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

  /** A turn later: what was read in one go with this answer is acted on first. */
  #settleBehind(sent: Promise<unknown>, gate: CreateGate): void {
    const settle = (): void => this.client.clock.afterPoll(() => gate.settle());
    sent.then(settle, settle);
  }

  /** After a create whose answer was lost: does the znode exist? */
  async findAgain(session: Session, node: LockNode, deadline: Deadline): Promise<boolean> {
    const retries = new Retries(this.client);
    for (;;) {
      if (!deadline.mayWait && !session.isConnected) return false;
      if (!(await session.whenConnected(deadline))) return false;
      try {
        return await node.find();
      } catch (error) {
        if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
        if (!error.is('CONNECTION_LOSS')) await retries.pause(deadline, error);
      }
    }
  }

  /**
   * The queue now, on the next connection of this session where there is none. Undefined when the session has ended, or
   * the answer was lost.
   *
   * @param behind what the answer must have seen
   */
  async readAgain(session: Session, deadline: Deadline, behind: Behind): Promise<QueueView | undefined> {
    if (!(await session.whenConnected(deadline))) return undefined;
    if (behind === 'sync') session.catchUp(this.path);
    const written = behind === 'write' ? session.request(checkServers()) : undefined;
    written?.catch(ignore);
    const view = await this.read(session);
    return written ? written.then(() => view, unlessRetryable) : view;
  }

  /** The queue now; undefined when the answer was lost. */
  async read(session: Session): Promise<QueueView | undefined> {
    return this.options.kind.read(session).catch(unlessRetryable);
  }

  /** A newcomer stands behind all others: one that was created later is never before it. */
  isAppendOnly({ sequence }: LockNode): boolean {
    return this.options.kind.appendOnly && sequence !== undefined && !isSequenceNearOverflow(sequence);
  }

  /** After 2^31 znodes the numbers turn negative, and each newcomer would stand before the holder. */
  refuseOverflow({ name, sequence }: LockNode): void {
    if (sequence === undefined || !isSequenceNearOverflow(sequence)) return;
    if (sequence < 0) throw new SequenceOverflowError(this.path, name);
    if (this.#hasWarnedOfOverflow) return;
    this.#hasWarnedOfOverflow = true;
    this.client.warn(
      `${this.path} is close to its last sequence number (${name}): delete it while nobody uses it`,
      undefined,
    );
  }

  explained(error: unknown): unknown {
    return error instanceof ZooKeeperError ? this.requestFailed(error) : error;
  }

  requestFailed(error: ZooKeeperError): RequestFailedError {
    return requestFailed(this.client, `The lock ${this.path} cannot be acquired`, error);
  }

  async #createAndRead(node: LockNode, deadline: Deadline, data = this.options.data()): Promise<Joined> {
    const { session } = node;
    const created = node.create(data, this.client.options.aclFor);
    const asked = this.#isOursAlone && deadline.mayWait ? undefined : this.read(session);
    asked?.catch(ignore);
    const right = await created;
    // A try that may not wait needs the view all the same: it says whether the lock is free.
    const before = deadline.mayWait ? this.#usable(right, node) : undefined;
    this.#isOursAlone = before !== undefined;
    if (before && !(asked && before.isGone)) return { is: 'right behind', before };
    return { is: 'created', view: await (asked ?? this.read(session)) };
  }

  /** The znode of this process right before, if its place says something about the place of `node`. */
  #usable(before: LockNode | undefined, node: LockNode): LockNode | undefined {
    const { kind, queued } = this.options;
    // Only the view of the queue says a position.
    if (
      before === undefined ||
      !kind.isFirstComeFirstServed ||
      queued?.wantsPosition ||
      !this.isAppendOnly(node) ||
      !before.isOfOneKindWith(node)
    )
      return undefined;
    return before;
  }

  async #sendParents(session: Session): Promise<{ errors: Promise<unknown[]> }> {
    try {
      return await this.client.parents.send(session, this.path, (path) =>
        this.client.options.aclForParents(path, this.path),
      );
    } catch (error) {
      // The server that knows no containers has closed the connection; the create that follows will find out.
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) return { errors: Promise.resolve([]) };
      throw error;
    }
  }
}

export interface LockInternalsOptions {
  readonly kind: QueueKind;
  /** What is written into the next znode. */
  readonly data: () => Uint8Array;
  /**
   * Its znodes are told from those of other clients by their uuid: those of a sticky lock, which may stay, and leases.
   * @default false
   */
  readonly hasMarkedUuid?: boolean;
  /** Told once for each znode that has to wait. Undefined while nobody listens. */
  readonly queued?: QueuedListener | undefined;
}

export interface QueuedListener {
  /** Whether the position is wanted also where only a view of the queue says it, which is a request more. */
  readonly wantsPosition: boolean;
  /** How many znodes are before it, as far as known, and its path. */
  tell(position: number | undefined, path: string): void;
}

/** What is known of a znode's place once it is created. */
export type Joined =
  | { readonly is: 'not created' }
  /** The view is undefined when its answer was lost. */
  | { readonly is: 'created'; readonly view: QueueView | undefined }
  /** No other znode is between it and this one of the same process. */
  | { readonly is: 'right behind'; readonly before: LockNode };

/**
 * What goes out in front of a read, so that its answer has seen it: a `sync` makes a lagging server catch up; only a
 * quorum `write` shows what became of a lost one.
 */
export type Behind = 'nothing' | 'sync' | 'write';

function unlessRetryable(error: unknown): undefined {
  if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
}

function ignore(): void {
  // What failed here fails again where it is awaited.
}
