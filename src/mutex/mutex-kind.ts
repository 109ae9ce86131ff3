import type { LockClient } from '../client/lock-client.js';
import { lightest, weightedMark } from '../weighted/weighted-name.js';
import type { Grant } from '../internals/grant.js';
import { LockInternals } from '../internals/lock-internals.js';
import { readHolder, readParticipants, type Participant } from '../internals/participants.js';
import type { Deadline } from '../internals/deadline.js';
import { StickyLock } from '../sticky/sticky-lock.js';
import { WeightedInternals, type WaitTools } from '../weighted/weighted-internals.js';
import { readWeightedHolder, readWeightedParticipants } from '../weighted/weighted-participants.js';
import type { CheckedMutexOptions } from './mutex-options.js';

/** What differs between a mutex in Curator's order, a sticky one, and one with weights. */
export interface MutexKind {
  readonly lockName: string;
  /** Whose znodes stand in the same queue. */
  readonly lockNames: readonly string[];
  readonly hasWeights: boolean;
  readonly isSticky: boolean;
  /** A grant; undefined where the deadline may not wait and it cannot be had at once. */
  acquire(deadline: Deadline, wish: Wish): Promise<Grant | undefined>;
  participants(deadline: Deadline): Promise<Participant[]>;
  holder(deadline: Deadline): Promise<Participant | undefined>;
}

/** How one acquire differs from others. */
export interface Wish {
  readonly weight: number | undefined;
  /** What is written into the znode instead of the usual. */
  readonly data: Uint8Array | undefined;
  /** What the same owner holds now in the same queue, if that lets it in at once. */
  readonly beside: (() => Grant | undefined) | undefined;
}

export function mutexKind(client: LockClient, path: string, options: CheckedMutexOptions, tools: WaitTools): MutexKind {
  return options.weights ? weighted(client, path, options.weights, tools) : ordered(client, path, options, tools);
}

function weighted(client: LockClient, path: string, weights: { readonly overtakesPerWeight: number }, tools: WaitTools): MutexKind {
  const internals = new WeightedInternals(client, path, weights, tools);
  return {
    lockName: weightedMark,
    lockNames: [weightedMark],
    hasWeights: true,
    isSticky: false,
    acquire: (deadline, { weight = lightest, data }) => internals.acquire(deadline, weight, data),
    participants: (deadline) => readWeightedParticipants(client, path, deadline),
    holder: (deadline) => readWeightedHolder(client, path, deadline),
  };
}

function ordered(client: LockClient, path: string, { driver, foreignNodes, sticky }: CheckedMutexOptions, tools: WaitTools): MutexKind {
  const isSticky = sticky !== undefined;
  const { data } = tools;
  const plain = new LockInternals(client, path, {
    driver,
    foreignNodes,
    data,
    hasMarkedUuid: isSticky,
    get queued() {
      return tools.queued;
    },
  });
  const internals = sticky ? new StickyLock(client, path, plain, { ...sticky, data, root: `${client.chroot}${path}`, clock: client.clock }) : plain;
  const shown = foreignNodes === 'wait' ? 'known' : 'own';
  return {
    lockName: driver.lockName,
    lockNames: driver.lockNames ?? [driver.lockName],
    hasWeights: false,
    isSticky,
    acquire: (deadline, { beside, data: ownData }) => internals.acquire(deadline, beside, ownData),
    participants: (deadline) => readParticipants(client, path, driver, deadline, shown),
    holder: (deadline) => readHolder(client, path, { driver, shown }, deadline),
  };
}
