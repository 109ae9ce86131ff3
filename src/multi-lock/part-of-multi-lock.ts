import type { ReleaseOutcome } from '../internals/grant.js';
import type { AcquireOptions } from '../mutex/acquire-options.js';

/** A lock that can be part of an InterProcessMultiLock: those of this library, or one of your own. */
export interface PartOfMultiLock<Part extends PartHold = PartHold> {
  /** Where it stands among the others: they are acquired in the order of their paths. */
  readonly path: string;
  /** Waits for it; rejects with LockTimeoutError when the time is over. */
  acquire(options?: AcquireOptions): Promise<Part>;
}

/** What an InterProcessMultiLock needs of the hold of one of its locks; a {@link Hold} has it. */
export interface PartHold {
  /** Whether it is certainly still held; once false, always false. */
  readonly isValid: boolean;
  /** Aborts with a LockLostError when it is lost. */
  readonly signal: AbortSignal;
  /** Lets go. */
  release(): Promise<ReleaseOutcome>;
}
