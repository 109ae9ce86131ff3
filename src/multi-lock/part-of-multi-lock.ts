import type { ReleaseOutcome } from '../internals/grant.js';
import type { AcquireOptions } from '../mutex/acquire-options.js';

/** A lock that can be part of an InterProcessMultiLock: a lock of this library, or one of your own. */
export interface PartOfMultiLock<Part extends PartHold = PartHold> {
  /** The place among the other locks, which are acquired in the order of their paths. */
  readonly path: string;
  /** Waits for the lock; rejects with LockTimeoutError after the timeout. */
  acquire(options?: AcquireOptions): Promise<Part>;
}

/** The part of a hold that an InterProcessMultiLock needs; a {@link Hold} has it. */
export interface PartHold {
  /** True while the lock is certainly still held; once false, it stays false. */
  readonly isValid: boolean;
  /** Aborts with a LockLostError when the lock is lost. */
  readonly signal: AbortSignal;
  /** Releases the hold. */
  release(): Promise<ReleaseOutcome>;
}
