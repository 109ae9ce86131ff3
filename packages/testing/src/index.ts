/** @module @zookeeper-fair-lock/testing */

export { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from './server/embedded-zookeeper.js';
export type { DelayedRequest, Fault, FaultStep, RefusedRequest } from './server/fault-script.js';
export type { OpName } from './wire/opcodes.js';
export type { ErrorName } from './wire/refusal.js';
export type { Clock } from './server/test-clock.js';
