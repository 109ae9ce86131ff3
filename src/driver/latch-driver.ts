import type { LockDriver } from './lock-driver.js';
import { StandardDriver } from './standard-driver.js';

/** The order of a mutex, with the names of Curator's LeaderLatch. */
class LatchDriver extends StandardDriver {
  override readonly lockName = 'latch-';
}

/** The driver of every election with the protocol of Curator's LeaderLatch. */
export const latchDriver: LockDriver = new LatchDriver();
