import type { LockClient } from '../client/lock-client.js';
import { check, checkExists, multi, setData } from '../zookeeper/operations.js';
import { join } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { ZooKeeperError } from '../zookeeper/zookeeper-error.js';
import { encodeClaim } from './claim.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { newcomer, weightedLockName } from './weighted-name.js';
import type { WeightedStanding } from './weighted-queue.js';
import { Attempt, type Entered } from '../internals/attempt.js';
import type { Grant } from '../internals/grant.js';
import { nodesOf, type LockNode } from '../internals/lock-node.js';
import { ZnodeQueue } from '../internals/znode-queue.js';
import type { Deadline } from '../internals/deadline.js';
import { nextNews } from '../internals/plant-watch.js';
import { connectedSession, reconnected } from '../internals/reconnected.js';
import { Retries } from '../internals/retries.js';
import { watchZnode } from '../internals/watch-znode.js';
import { lookAtWeighted, type WeightedLook } from './weighted-look.js';

/**
 * The wait for a lock whose waiters have weights. They queue up as those of a mutex do; but the order of the names does not say who holds, so whoever is next
 * takes the lock by one transaction: it writes its own name into the lock's znode, if nobody has written there since it looked, and if its own znode is there.
 * Nobody who waits writes anything. See docs/weights.md.
 */
export class WeightedInternals {
  readonly #client: LockClient;
  readonly #path: string;
  readonly #root: string;
  readonly #overtakesPerWeight: number;
  readonly #tools: WaitTools;
  readonly #lines = new Map<number, ZnodeQueue>();

  constructor(client: LockClient, path: string, { overtakesPerWeight }: { readonly overtakesPerWeight: number }, tools: WaitTools) {
    this.#client = client;
    this.#path = path;
    this.#root = `${client.chroot}${path}`;
    this.#overtakesPerWeight = overtakesPerWeight;
    this.#tools = tools;
  }

  /** As {@link LockInternals.acquire}. */
  acquire(deadline: Deadline, weight: number, data?: Uint8Array): Promise<Grant | undefined> {
    return deadline.limit(
      () => this.#run(deadline, weight, data),
      (grant) => void grant?.release(),
    );
  }

  async #run(deadline: Deadline, weight: number, data: Uint8Array | undefined): Promise<Grant | undefined> {
    const line = this.#lineOf(weight);
    const retries = new Retries(this.#client, deadline.startedAt);
    for (;;) {
      deadline.check();
      if (!deadline.mayWait && !this.#client.session.isConnected) return undefined;
      const session = await connectedSession(this.#client, deadline);
      if (!deadline.mayWait && !(await this.#isFree(session, line, weight))) return undefined;
      const step = await new Attempt(line, session, deadline, { enter: (node) => this.#enter(line, node, deadline, data) }).begin();
      if (step.is === 'granted') return step.grant;
      if (step.is === 'taken') return undefined;
      if (step.is === 'vanished') await retries.pause(deadline, line.requestFailed(new ZooKeeperError(noNode, 'getChildren2', this.#path)));
    }
  }

  /** tryAcquire looks before it writes. */
  async #isFree(session: Session, line: ZnodeQueue, weight: number): Promise<boolean> {
    session.catchUp(this.#root);
    const own = newcomer(weight, this.#overtakesPerWeight);
    try {
      const look = await this.#ask(session);
      return look?.queue(this.#path).with(own).standingOf(own.name).is === 'next';
    } catch (error) {
      throw line.explained(error);
    }
  }

  async #enter(line: ZnodeQueue, node: LockNode, deadline: Deadline, data = this.#tools.data()): Promise<Entered> {
    const { session } = node;
    let isQueued = false;
    let before: Before = 'nothing';
    const created = await line.create(node, deadline, () => this.#createAndAsk(node, data));
    if (created === 'not created') return { is: 'over' };
    line.refuseOverflow(node);
    let look = created === 'found' ? undefined : created;
    for (;;) {
      deadline.check();
      if (session.isEnded) return { is: 'over' };
      if (node.isGone || node.mark === 'force') return { is: 'vanished' };
      // A server that lags behind our create may show another znode of the lock, from before the one that ours is in.
      if (look && look.zxid < node.czxid) {
        look = undefined;
        before = 'sync';
      }
      if (look === undefined) {
        if (!deadline.mayWait && !session.isConnected) return { is: 'taken' };
        look = await this.#lookAgain(session, deadline, before);
        if (look) before = 'nothing';
        continue;
      }
      const standing = look.queue(this.#path).standingOf(node.name);
      if (standing.is === 'absent') return { is: 'vanished' };
      if (standing.is === 'holder') return { is: 'entered', fencingToken: look.mzxid };
      if (standing.is === 'next') {
        const claimed = await this.#claim(session, node, look);
        if (claimed.is === 'ours') return { is: 'entered', fencingToken: claimed.mzxid };
        if (claimed.is === 'vanished') return claimed;
        if (claimed.is === 'unknown') before = 'write';
      } else {
        if (!deadline.mayWait) return { is: 'taken' };
        if (!isQueued) this.#tools.queued?.(look.queue(this.#path).order.get(node.name) ?? 0, join(this.#path, node.name));
        isQueued = true;
        await this.#news(node, standing, look.mzxid, deadline);
      }
      look = undefined;
    }
  }

  async #createAndAsk(node: LockNode, data: Uint8Array): Promise<WeightedLook | undefined> {
    const created = node.create(data, this.#client.options.aclFor);
    const asked = this.#ask(node.session);
    asked.catch(ignore);
    await created;
    return asked;
  }

  async #claim(session: Session, node: LockNode, look: WeightedLook): Promise<Claimed> {
    const data = encodeClaim(look.queue(this.#path).claimOf(node.name));
    try {
      const { value } = await session.request(multi(checkExists(node.path), setData(this.#root, data, look.version)));
      if (value.is === 'done') return { is: 'ours', mzxid: value.results[1].mzxid };
      const [ofNode, ofRoot] = value.errors;
      if (ofNode?.is('NO_NODE')) return { is: 'vanished' };
      if (ofRoot?.is('BAD_VERSION')) return { is: 'late' };
      throw value.error;
    } catch (error) {
      if (error instanceof ZooKeeperError && error.isRetryable) return { is: 'unknown' };
      throw error;
    }
  }

  /**
   * Undefined when the answer was lost. After a claim without an answer only a look behind an answered quorum write can say whether we hold the lock: a session that
   * moved to another server may be shown an older tree.
   */
  async #lookAgain(session: Session, deadline: Deadline, before: Before): Promise<WeightedLook | undefined> {
    if (!(await reconnected(session, deadline))) return undefined;
    if (before === 'sync') session.catchUp(this.#root);
    const written = before === 'write' ? session.request(check(['/'])) : undefined;
    written?.catch(ignore);
    const look = await this.#ask(session);
    return written ? written.then(() => look, unlessRetryable) : look;
  }

  async #ask(session: Session): Promise<WeightedLook | undefined> {
    return lookAtWeighted(session, this.#root).catch(unlessRetryable);
  }

  /** Resolves when there is a reason to look again. */
  #news(node: LockNode, { watch, watchesClaim }: WeightedStanding & { is: 'waiting' }, mzxid: bigint, deadline: Deadline): Promise<undefined> {
    const { session } = node;
    const path = join(this.#root, watch);
    const local = nodesOf(session).get(path);
    // Who is let in by what happens in this process looks after its own znode soon enough.
    if (local && !watchesClaim) node.watch.plantForWaiter();
    else node.watch.plant();
    return deadline.wait((wake, fail) => {
      const look = (): void => wake(undefined);
      const stops = [local ? local.onGone(look) : nextNews(session, path, { told: look, failed: fail })];
      if (watchesClaim) stops.push(watchZnode(session, this.#root, { mzxid }, { changed: look, failed: fail }));
      node.wait({ wake: look });
      return () => {
        node.waitNoMore();
        stops.forEach((stop) => stop());
      };
    });
  }

  #lineOf(weight: number): ZnodeQueue {
    const known = this.#lines.get(weight);
    if (known) return known;
    const driver = new LineDriver(weightedLockName(weight, this.#overtakesPerWeight));
    const line = new ZnodeQueue(this.#client, this.#path, { driver, data: this.#tools.data, foreignNodes: 'reject' });
    this.#lines.set(weight, line);
    return line;
  }
}

/** What a wait needs of its lock. */
export interface WaitTools {
  /** What is written into the next znode. */
  readonly data: () => Uint8Array;
  /** Told once for each znode that has to wait: how many are before it, and its path below the client's chroot. Undefined while nobody asks. */
  readonly queued: ((position: number, path: string) => void) | undefined;
}

/** What became of a claim. */
type Claimed =
  | { readonly is: 'ours'; readonly mzxid: bigint }
  /** Somebody else was quicker. */
  | { readonly is: 'late' }
  /** Our znode is not there any more. */
  | { readonly is: 'vanished' }
  /** The answer was lost. */
  | { readonly is: 'unknown' };

/** What goes out in front of a look. */
type Before = 'nothing' | 'sync' | 'write';

const noNode = -101;

/** What a line of one weight needs to know to queue up; the rest is decided from all lines together. */
class LineDriver implements LockDriver {
  readonly lockName: string;
  readonly appendOnly = false;

  constructor(lockName: string) {
    this.lockName = lockName;
  }

  sort(children: readonly string[]): string[] {
    return [...children];
  }

  decide(): { held: false; watch: string } {
    return { held: false, watch: '' };
  }
}

function unlessRetryable(error: unknown): undefined {
  if (!(error instanceof ZooKeeperError && error.isRetryable)) throw error;
}

function ignore(): void {
  // What failed here fails again where it is awaited.
}
