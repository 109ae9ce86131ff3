import { ForeignNodeError, RequestFailedError, SequenceOverflowError } from './lock-errors.js';
import type { LockClient } from '../client/lock-client.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { isSequenceNearOverflow } from '../driver/names.js';
import { standardDriver } from '../driver/standard-driver.js';
import { listChildren, Listing } from './listing.js';
import { LockNode, type NodePlace } from './lock-node.js';
import { sendParents } from './parents.js';
import type { Deadline } from './deadline.js';
import { reconnected } from './reconnected.js';
import { closedGate, closeGate, type CreateGate } from './create-gate.js';

/** A lock's children on the servers: to stand among them, and to list them. */
export class ZnodeQueue {
  readonly client: LockClient;
  readonly path: string;
  readonly root: string;
  readonly options: LockInternalsOptions;
  readonly #place: NodePlace;
  /** The last znode came right behind another one of ours: then the next one may do without a list, too, and none is sent along. */
  #isOursAlone = false;
  #hasWarnedOfOverflow = false;

  constructor(client: LockClient, path: string, options: LockInternalsOptions) {
    this.client = client;
    this.path = path;
    this.root = `${client.chroot}${path}`;
    this.options = options;
    this.#place = { root: this.root, lockName: options.driver.lockName, hasMarkedUuid: options.hasMarkedUuid ?? false, driver: options.driver, foreignNodes: options.foreignNodes, tools: client };
  }

  newNode(session: Session): LockNode {
    return new LockNode(session, this.#place);
  }

  /**
   * Our znode and, in the same flush, the list that says where it stands, if that is needed.
   *
   * @param data what is written into it instead of the usual
   */
  async join(node: LockNode, deadline: Deadline, data?: Uint8Array): Promise<Joined> {
    const joined = await this.create(node, deadline, () => this.#createAndList(node, deadline, data));
    if (joined === 'not created') return { is: joined };
    return joined === 'found' ? { is: 'listed', listing: undefined } : joined;
  }

  /**
   * Our znode, with its parents where they are missing. `found`: the answer was lost, and it is there.
   *
   * @param send sends the create, and what is asked along with it
   */
  async create<T>(node: LockNode, deadline: Deadline, send: () => Promise<T>): Promise<T | 'found' | 'not created'> {
    const { session } = node;
    let parents = { errors: Promise.resolve<unknown[]>([]) };
    let ownSteps = 0;
    let gate = closedGate(this.client, this.root);
    if (gate) await gate.turn(deadline);
    let own: CreateGate | undefined;
    try {
      for (;;) {
        const sent = send();
        if (own) this.#settleBehind(sent, own);
        own = undefined;
        gate?.passOn();
        gate = undefined;
        try {
          return await sent;
        } catch (error) {
          if (error instanceof ZooKeeperError && error.isRetryable) {
            return (await this.findAgain(session, node, deadline)) ? 'found' : 'not created';
          }
          if (!isZooKeeperError(error, 'NO_NODE')) throw error;
          // Told apart from a parent that was reaped between its creation and ours (CURATOR-180), which is tried again.
          const [why] = await parents.errors;
          if (why instanceof Error) throw why;
          if (ownSteps > 0) await this.pause(deadline, this.#retrySleepMs(ownSteps - 1, deadline, error));
          deadline.check();
          const inTheWay = closedGate(this.client, this.root);
          if (inTheWay) {
            await inTheWay.turn(deadline, 'refused');
            gate = inTheWay;
          } else {
            // Closed in the same step that found it open: the answers to others come right behind ours.
            own = closeGate(this.client, this.root);
            gate = own;
            ownSteps += 1;
            parents = await this.#sendParents(session);
          }
        }
      }
    } finally {
      own?.settle();
      gate?.passOn();
    }
  }

  /** A turn later: what was read in one go with this answer is acted on first. */
  #settleBehind(sent: Promise<unknown>, gate: CreateGate): void {
    const settle = (): void => this.client.clock.afterPoll(() => gate.settle());
    sent.then(settle, settle);
  }

  /** The answer to our create was lost: does our znode exist? */
  async findAgain(session: Session, node: LockNode, deadline: Deadline): Promise<boolean> {
    for (let tries = 0; ; tries += 1) {
      if (!deadline.mayWait && !session.isConnected) return false;
      if (!(await reconnected(session, deadline))) return false;
      try {
        return await node.find();
      } catch (error) {
        if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
        if (!error.is('CONNECTION_LOSS')) await this.pause(deadline, this.#retrySleepMs(tries, deadline, error));
      }
    }
  }

  async listAgain(session: Session, deadline: Deadline, { mustCatchUp }: { mustCatchUp: boolean }): Promise<Listing | undefined> {
    if (!(await reconnected(session, deadline))) return undefined;
    if (mustCatchUp) session.catchUp(this.root);
    return this.#list(session);
  }

  pause(deadline: Deadline, sleepMs: number): Promise<void> {
    return deadline.wait((wake) => this.client.clock.after(sleepMs, () => wake(undefined)));
  }

  /** A newcomer stands behind all others: one that was created later is never before it. */
  isAppendOnly({ sequence }: LockNode): boolean {
    return this.options.driver.appendOnly && sequence !== undefined && !isSequenceNearOverflow(sequence);
  }

  /** After 2^31 znodes the numbers turn negative, and each newcomer would stand before the holder. */
  refuseOverflow({ name, sequence }: LockNode): void {
    if (sequence === undefined || !isSequenceNearOverflow(sequence)) return;
    if (sequence < 0) throw new SequenceOverflowError(this.path, name);
    if (this.#hasWarnedOfOverflow) return;
    this.#hasWarnedOfOverflow = true;
    this.client.warn(`${this.path} is close to its last sequence number (${name}): delete it while nobody uses it`, undefined);
  }

  refuseForeign(foreign: readonly string[]): void {
    if (foreign.length > 0 && this.options.foreignNodes === 'reject') throw new ForeignNodeError(this.path, foreign);
  }

  explained(error: unknown): unknown {
    return error instanceof ZooKeeperError ? this.requestFailed(error) : error;
  }

  requestFailed(error: ZooKeeperError): RequestFailedError {
    return new RequestFailedError(`The lock ${this.path} cannot be acquired`, error);
  }

  async #createAndList(node: LockNode, deadline: Deadline, data = this.options.data()): Promise<Joined> {
    const { session } = node;
    const created = node.create(data, this.client.options.aclFor);
    const listed = this.#isOursAlone && deadline.mayWait ? undefined : this.#list(session);
    listed?.catch(ignore);
    const right = await created;
    // Who only looks needs to know whether anybody is there: the list says it.
    const before = deadline.mayWait ? this.#usable(right, node) : undefined;
    this.#isOursAlone = before !== undefined;
    if (before && !(listed && before.isGone)) return { is: 'right behind', before };
    return { is: 'listed', listing: await (listed ?? this.#list(session)) };
  }

  /** The one of ours right before, if the place that it has, or had, says something of ours. */
  #usable(before: LockNode | undefined, node: LockNode): LockNode | undefined {
    const { driver, queued } = this.options;
    // Who wants to know how many are before it needs a list.
    if (before === undefined || driver !== standardDriver || queued || !this.isAppendOnly(node) || !before.isOfOneKindWith(node)) return undefined;
    return before;
  }

  async #sendParents(session: Session): Promise<{ errors: Promise<unknown[]> }> {
    try {
      return await sendParents(this.client, session, this.root, this.client.options.aclFor);
    } catch (error) {
      // The server that knows no containers has closed the connection; the create that follows will find out.
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) return { errors: Promise.resolve([]) };
      throw error;
    }
  }

  /** Undefined when the answer was lost. Without a parent there is nobody: our znode has gone with it. */
  async #list(session: Session): Promise<Listing | undefined> {
    try {
      return await listChildren(session, this.root);
    } catch (error) {
      if (isZooKeeperError(error, 'NO_NODE')) return new Listing([], session.lastZxid);
      if (error instanceof ZooKeeperError && error.isRetryable) return undefined;
      throw error;
    }
  }

  #retrySleepMs(retryCount: number, deadline: Deadline, error: unknown): number {
    const elapsedMs = this.client.clock.now() - deadline.startedAt;
    const decision = this.client.options.retryPolicy.allowRetry({ retryCount, elapsedMs, random: Math.random });
    if (!decision.retry) throw error;
    return decision.sleepMs;
  }
}

export interface LockInternalsOptions {
  readonly driver: LockDriver;
  /** What is written into the next znode. */
  readonly data: () => Uint8Array;
  /** What a child does that this kind of lock did not create: fail the acquire, or stand in the queue by its name. */
  readonly foreignNodes: 'reject' | 'wait';
  /** Its znodes are told from those of other clients by their uuid: those of a sticky lock, which may stay, and leases. @default false */
  readonly hasMarkedUuid?: boolean;
  /** Told once for each znode that has to wait: how many are before it, and its path below the client's chroot. Undefined while nobody asks. */
  readonly queued?: ((position: number, path: string) => void) | undefined;
}

/** What is known of our znode's place once it is created. */
export type Joined =
  | { readonly is: 'not created' }
  /** Undefined when the list was lost. */
  | { readonly is: 'listed'; readonly listing: Listing | undefined }
  /** There is nobody between it and this one of ours. */
  | { readonly is: 'right behind'; readonly before: LockNode };

function ignore(): void {
  // What failed here fails again where it is awaited.
}
