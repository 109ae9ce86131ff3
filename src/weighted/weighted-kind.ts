import { setData } from '../zookeeper/wire/operations.js';
import { checkExists, multi } from '../zookeeper/wire/transaction.js';
import type { Session } from '../zookeeper/session/session.js';
import { isRetryable } from '../zookeeper/wire/zookeeper-error.js';
import type { Claimed, ParticipantName, QueueKind, QueueView, Standing } from '../internals/queue-view.js';
import { encodeClaim } from './claim.js';
import { lookAtWeighted, type WeightedLook } from './weighted-look.js';
import { lightest, newcomer, weightedChild, weightedLockName, type WeightedChild } from './weighted-name.js';
import type { WeightedQueue } from './weighted-queue.js';

/**
 * The queue of a lock with weights, for the waiters of one weight. The order of the names does not show the holder, so
 * the next waiter takes the lock by one transaction: it writes its own name into the lock's znode, on two conditions:
 * no other client has written there since the waiter read it, and the waiter's own znode exists. A waiter that is not
 * next writes nothing. See docs/locks/weights.md.
 */
export class WeightedKind implements QueueKind {
  readonly appendOnly = false;
  readonly isFirstComeFirstServed = false;
  readonly lockName: string;
  readonly path: string;
  readonly newcomer: WeightedChild;

  constructor(weight: number, overtakesPerWeight: number, path: string) {
    this.lockName = weightedLockName(weight, overtakesPerWeight);
    this.newcomer = newcomer(weight, overtakesPerWeight);
    this.path = path;
  }

  async read(session: Session): Promise<QueueView> {
    return new WeightedView(this, await lookAtWeighted(session, this.path));
  }

  hasRuleOf(other: QueueKind): boolean {
    return other instanceof WeightedKind;
  }

  describe(name: string): ParticipantName {
    return describeWeighted(name);
  }
}

export function describeWeighted(name: string): ParticipantName {
  const { sequence = 0, weight = lightest } = weightedChild(name) ?? {};
  return { sequence, weight };
}

class WeightedView implements QueueView {
  readonly #kind: WeightedKind;
  readonly #look: WeightedLook;

  constructor(kind: WeightedKind, look: WeightedLook) {
    this.#kind = kind;
    this.#look = look;
  }

  get zxid(): bigint {
    return this.#look.answers.zxid;
  }

  get order(): readonly string[] {
    return [...this.#look.shown.order.keys()];
  }

  get holder(): string | undefined {
    const { shown } = this.#look;
    this.#look.refuseErased(this.#kind.path, { most: 0 });
    return shown.holder ?? this.#queue.holder;
  }

  get isFree(): boolean {
    const own = this.#kind.newcomer;
    return this.#queue.with(own).standingOf(own.name).is === 'next';
  }

  standingOf(name: string): Standing {
    const standing = this.#queue.standingOf(name);
    switch (standing.is) {
      case 'absent':
        return standing;
      case 'holder':
        return { is: 'holder', fencingToken: this.#look.answers.mzxid };
      case 'next':
        return { is: 'next', claim: (session, path) => this.#claim(session, path, name) };
      case 'waiting': {
        const { watch, watchesClaim } = standing;
        const isNext = watch === this.#queue.holder;
        const rank = this.#queue.rankOf(name);
        const queued = { is: 'waiting', position: undefined, watch, isNext, isAdjacent: false, rank } as const;
        return watchesClaim ? { ...queued, lockData: this.#look.answers.mzxid } : queued;
      }
    }
  }

  /** A lock with weights is never kept idle. */
  get only(): undefined {
    return undefined;
  }

  positionOf(name: string): number {
    return this.#queue.order.get(name) ?? 0;
  }

  without(name: string): QueueView {
    return new WeightedView(this.#kind, this.#look.without(name));
  }

  get #queue(): WeightedQueue {
    return this.#look.queue(this.#kind.path);
  }

  async #claim(session: Session, path: string, name: string): Promise<Claimed> {
    const data = encodeClaim(this.#queue.claimOf(name));
    try {
      const { value } = await session.request(
        multi(checkExists(path), setData(this.#kind.path, data, this.#look.answers.version)),
      );
      if (value.is === 'done') return { is: 'holder', fencingToken: value.results[1].mzxid };
      const [ofNode, ofRoot] = value.errors;
      if (ofNode?.is('NO_NODE')) return { is: 'absent' };
      if (ofRoot?.is('BAD_VERSION')) return { is: 'late' };
      throw value.error;
    } catch (error) {
      if (isRetryable(error)) return { is: 'unknown' };
      throw error;
    }
  }
}
