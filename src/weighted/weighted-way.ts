import { LockInternals } from '../internals/lock-internals.js';
import type { MutexAcquireOptions } from '../mutex/acquire-options.js';
import { internalLock, queueReaders } from '../mutex/curator-way.js';
import { addWay, type MutexQueue, type MutexWay, type OtherOptions, type QueuedLock } from '../mutex/mutex-way.js';
import { expected, expectInteger, expectOptions } from '../support/validate.js';
import { decodeClaim } from './claim.js';
import { describeWeighted, WeightedKind } from './weighted-kind.js';
import { heaviest, lightest, mostOvertakes, weightedChild, weightedMark } from './weighted-name.js';
import { WeightedQueue } from './weighted-queue.js';

/** The option of a mutex whose heavier waiters are granted first. */
export interface WeightedMutexOptions {
  /**
   * Grant heavier waiters first: `acquire({ weight })`, a whole number from 1 to 10. Waiters of one weight are served
   * in the order in which they came. Each waiter can be overtaken only a limited number of times, so no wait lasts
   * forever. Such a lock keeps the name of its holder in the data of its own znode, and is not a lock of Curator: give
   * it a path of its own. For the rule and its costs see docs/locks/weights.md.
   * @default all waiters weigh the same
   */
  readonly weights?: WeightsOptions | undefined;
}

/** Options of a mutex with weights. */
export interface WeightsOptions {
  /**
   * How many later waiters may be granted before a waiter of this mutex, for each step of weight between them: a whole
   * number from 1 to 99. With 10, a waiter of weight 7 is overtaken at most 10 × (8 − 7) + 10 × (9 − 8) + 10 × (10 − 9)
   * = 30 times. The number is part of the znodes' names, so clients need not agree on it.
   * @default 10
   */
  readonly overtakesPerWeight?: number | undefined;
}

/** The option of an acquire of a mutex with weights. */
export interface WeightOption {
  /**
   * A whole number from 1 to 10: heavier waiters are granted first. Only for a mutex with the option `weights`. A
   * re-entrant acquire does not wait, so its weight does not matter.
   * @default 1
   */
  readonly weight?: number | undefined;
}

declare module '../mutex/mutex-options.js' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- merged into the options of a mutex
  interface InterProcessMutexOptions extends WeightedMutexOptions {}
}

declare module '../mutex/acquire-options.js' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- merged into the options of an acquire
  interface MutexAcquireOptions extends WeightOption {}
}

/** The lock's znode names the holder, and each weight has a place of its own in the order. */
class WeightedWay implements MutexWay {
  readonly #overtakesPerWeight: number;

  constructor(options: WeightsOptions) {
    const { overtakesPerWeight = 10 } = expectOptions('weights', options, ['overtakesPerWeight']);
    expectInteger('weights.overtakesPerWeight', overtakesPerWeight, { min: 1, max: mostOvertakes });
    this.#overtakesPerWeight = overtakesPerWeight;
  }

  get text(): string {
    return `weights: { overtakesPerWeight: ${this.#overtakesPerWeight} }`;
  }

  /** The znode's name contains how often a waiter may be overtaken, so objects need not agree on it. */
  agrees(other: MutexWay): boolean {
    return other instanceof WeightedWay;
  }

  checkAcquire({ weight }: MutexAcquireOptions): void {
    if (weight !== undefined) expectInteger('weight', weight, { min: lightest, max: heaviest });
  }

  queueOf(lock: QueuedLock): MutexQueue {
    const { host, path } = lock;
    const kindOf = (weight: number): WeightedKind => new WeightedKind(weight, this.#overtakesPerWeight, path);
    const internals = new Map<number, LockInternals>();
    let isChecked = false;
    return {
      lockName: weightedMark,
      lockNames: [weightedMark],
      writes: [path],
      acquire: (deadline, wish) => {
        if (!isChecked) host.options.requireWrite(path, 'a lock with weights');
        isChecked = true;
        const { weight = lightest } = wish.options;
        const known = internals.get(weight) ?? new LockInternals(internalLock(lock, kindOf(weight)));
        internals.set(weight, known);
        return known.acquire(deadline, wish);
      },
      ...queueReaders(lock, kindOf(lightest)),
    };
  }
}

/**
 * The names alone do not show the holder of a lock with weights, so a driver cannot decide. The order of weights has no
 * place for other clients.
 */
function refuseOthers({ driver, foreignNodes }: OtherOptions): void {
  if (driver !== undefined) throw new TypeError(expected('driver', 'undefined together with `weights`', driver));
  if (foreignNodes === 'wait')
    throw new TypeError(expected('foreignNodes', "'reject' together with `weights`", foreignNodes));
}

// `src/index.ts` loads this module for its effect.
addWay({
  name: 'weights',
  acquireNames: ['weight'],
  wayOf: (value, options) => {
    refuseOthers(options);
    return new WeightedWay(value as WeightsOptions);
  },
  isWay: (way) => way instanceof WeightedWay,
  refuseAcquire: ({ weight }) => {
    if (weight !== undefined)
      throw new TypeError(
        'Unexpected option `weight`: it needs a mutex with weights, new InterProcessMutex(client, path, { weights: {} })',
      );
  },
  names: {
    isOwn: (name) => weightedChild(name) !== undefined,
    describe: describeWeighted,
    inOrder: (names, data) => {
      const children = names.map((name) => weightedChild(name)).filter((child) => child !== undefined);
      const claim = data === undefined ? 'none' : decodeClaim(data);
      return [...new WeightedQueue(children, typeof claim === 'string' ? undefined : claim).order.keys()];
    },
  },
});
