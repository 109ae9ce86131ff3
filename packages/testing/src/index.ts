export { EmbeddedZooKeeper, type EmbeddedZooKeeperOptions } from './embedded-zookeeper.js';
export type { DelayedRequest, Fault, FaultStep, RefusedRequest } from './fault-script.js';
export type { OpName } from './opcodes.js';
export type { ErrorName } from './refusal.js';
export type { Clock } from './test-clock.js';
