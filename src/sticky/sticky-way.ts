import { protectedPrefix, stickyUuid } from '../driver/names.js';
import type { MutexAcquireOptions } from '../mutex/acquire-options.js';
import { orderedQueue } from '../mutex/curator-way.js';
import { addWay, type MutexQueue, type MutexWay, type QueuedLock, type UsedLock } from '../mutex/mutex-way.js';
import { expectDuration, expectOptions } from '../support/validate.js';
import { join } from '../zookeeper/wire/path.js';
import { tryIdle } from './idle-lock.js';
import { StickyLock } from './sticky-lock.js';

/** The option of a mutex that keeps its lock. */
export interface StickyMutexOptions {
  /**
   * Keep the lock after a release until another process wants it, so that the next acquire in this process needs no
   * request. For a worker that takes the same lock again and again while no other process wants it. The README says
   * what it costs when another process does.
   * @default the lock is given up at each release
   */
  readonly sticky?: StickyOptions | undefined;
}

/** Options of a sticky lock. */
export interface StickyOptions {
  /** The lock is given up after this many milliseconds without use, ≥ 0. */
  readonly idleMs: number;
}

declare module '../mutex/mutex-options.js' {
  // oxlint-disable-next-line typescript/no-empty-object-type -- merged into the options of a mutex
  interface InterProcessMutexOptions extends StickyMutexOptions {}
}

/** The objects of one lock keep one znode together, and serve their callers from it. */
class StickyWay implements MutexWay {
  readonly #idleMs: number;

  constructor(options: StickyOptions) {
    const { idleMs } = expectOptions('sticky', options, ['idleMs']);
    expectDuration('sticky.idleMs', idleMs);
    this.#idleMs = idleMs;
  }

  get text(): string {
    return `sticky: { idleMs: ${this.#idleMs} }`;
  }

  agrees(other: MutexWay): boolean {
    return other instanceof StickyWay && other.#idleMs === this.#idleMs;
  }

  checkAcquire({ data }: MutexAcquireOptions): void {
    if (data !== undefined)
      throw new TypeError('Unexpected option `data`: the holders of a sticky lock share one znode, and its data');
  }

  queueOf(lock: QueuedLock): MutexQueue {
    const { host, path, driver } = lock;
    const { internals, ...queue } = orderedQueue(lock, { hasMarkedUuid: true });
    const asking = { internals, data: lock.data };
    let isChecked = false;
    return {
      ...queue,
      acquire: (deadline) => {
        if (!isChecked)
          host.options.requireWrite(
            join(path, protectedPrefix(stickyUuid(host.chance.uuid()), driver.lockName)),
            'a sticky lock',
          );
        isChecked = true;
        return this.#keptOf(lock).acquire(deadline, asking);
      },
    };
  }

  #keptOf({ host, path, shared }: QueuedLock): StickyLock {
    const known = kept.get(shared);
    if (known) return known;
    const lock = new StickyLock(host, path, this.#idleMs, shared);
    kept.set(shared, lock);
    return lock;
  }
}

/** The lock that keeps one znode for all objects of a shared lock. */
const kept = new WeakMap<UsedLock, StickyLock>();

// `src/index.ts` loads this module for its effect.
addWay({
  name: 'sticky',
  acquireNames: [],
  wayOf: (options) => new StickyWay(options as StickyOptions),
  isWay: (way) => way instanceof StickyWay,
  tryAcquire: tryIdle,
});
