import type { LockClient } from '../client/lock-client.js';
import { lightest, weightedMark } from '../weighted/weighted-name.js';
import type { Grant } from '../internals/grant.js';
import { LockInternals } from '../internals/lock-internals.js';
import type { Mode } from '../internals/lock-queue.js';
import { readHolder, readParticipants, type Participant } from '../internals/participants.js';
import type { Patience } from '../internals/patience.js';
import { StickyLock } from '../sticky/sticky-lock.js';
import { WeightedInternals, type WaitTools } from '../weighted/weighted-internals.js';
import { readWeightedHolder, readWeightedParticipants } from '../weighted/weighted-participants.js';
import type { CheckedMutexOptions } from './mutex-options.js';

/** How one acquire differs from others. */
export interface Wish {
  readonly weight: number | undefined;
  /** What is written into the znode instead of the usual. */
  readonly data: Uint8Array | undefined;
  /** What the same owner holds now in the same queue, if that lets it in at once. */
  readonly beside: (() => Grant | undefined) | undefined;
}

/** What differs between a mutex in Curator's order, a sticky one, and one with weights. */
export interface MutexKind {
  readonly lockName: string;
  /** Whose znodes stand in the same queue. */
  readonly lockNames: readonly string[];
  readonly hasWeights: boolean;
  readonly isSticky: boolean;
  /** A grant, or undefined in mode `once` when it cannot be had at once. */
  acquire(patience: Patience, mode: Mode, wish: Wish): Promise<Grant | undefined>;
  participants(patience: Patience): Promise<Participant[]>;
  holder(patience: Patience): Promise<Participant | undefined>;
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
    acquire: (patience, mode, { weight = lightest, data }) => internals.acquire(patience, mode, weight, data),
    participants: (patience) => readWeightedParticipants(client, path, patience),
    holder: (patience) => readWeightedHolder(client, path, patience),
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
    acquire: (patience, mode, { beside, data: ownData }) => internals.acquire(patience, mode, beside, ownData),
    participants: (patience) => readParticipants(client, path, driver, patience, shown),
    holder: (patience) => readHolder(client, path, { driver, shown }, patience),
  };
}
