/// <reference types="node" preserve="true" />
/** @module zookeeper-fair-lock */

import './multi-lock/locks-of-paths.js';
import './mutex/path-locks.js';
import './sticky/sticky-way.js';
import './weighted/weighted-way.js';

export { LockClient } from './client/lock-client.js';
export type { LockClientEvents } from './client/report/client-report.js';
export type { ClientHealth, ErrorFacts } from './client/client-health.js';
export type { SessionMessage } from './client/report/session-tracing.js';
export type { BackgroundEvent } from './client/report/background-event.js';
export type { Acl, AclProvider } from './client/options/access-rights.js';
export type { ConnectStringSource, LazyClientOptions, LockClientOptions } from './client/options/client-options.js';
export type { DigestMd5Options, SaslOptions } from './client/options/sasl-options.js';
export type { SaslHandshake, SaslMechanism, SaslPeer, SaslSource } from './zookeeper/wire/sasl-handshake.js';
export type { TlsOptions } from './client/options/tls-options.js';
export type { LogDetails, Logger } from './client/options/logger.js';
export type { LockEvent, LockEventBase, LockEventOfHold, LockKind } from './client/report/lock-event.js';
export type { AclEntry } from './zookeeper/wire/operations.js';
export type { Credential } from './zookeeper/connection/connection-options.js';
export type { ConnectionState } from './client/report/connection-state.js';
export {
  exponentialBackoff,
  retryForever,
  retryNTimes,
  retryOnce,
  retryUntilElapsed,
  type ExponentialBackoffOptions,
  type RetryAttempt,
  type RetryDecision,
  type RetryPolicy,
} from './client/options/retry-policy.js';
export {
  AuthFailedError,
  ClientClosedError,
  ConnectionTimeoutError,
  RequestFailedError,
  SessionExpiredError,
  type FailedOperation,
} from './client/report/client-errors.js';
export {
  DeadlockError,
  ForeignNodeError,
  NotOwnedError,
  OutcomeUnknownError,
  SequenceOverflowError,
} from './internals/lock-errors.js';
export { SessionFullError } from './internals/znode/session-full-error.js';
export { LockLostError, type LossReason } from './client/report/lock-lost-error.js';
export { LockTimeoutError } from './client/report/lock-timeout-error.js';
export type { KnownHolder, TimedOut, TimeoutReason } from './client/report/timeout-text.js';
export { ForeignDataError } from './weighted/foreign-data-error.js';
export type { SaslAccount } from './zookeeper/wire/digest-md5.js';
export { TlsError, type TlsProblem } from './zookeeper/network/tls-error.js';
export { InvalidPathError } from './zookeeper/wire/path.js';
export { Emitter } from './support/events.js';
export { LockError, type LockErrorCode } from './support/lock-error.js';
export { ZooKeeperError } from './zookeeper/wire/zookeeper-error.js';
export type { LockDecision, LockDriver } from './driver/lock-driver.js';
export { StandardDriver } from './driver/standard-driver.js';
export type { Participant } from './internals/participants.js';
export type { ReleaseOutcome } from './internals/grant.js';
export type { LockOwner } from './internals/znode/znode-data.js';
export { InterProcessMutex, type InterProcessMutexEvents } from './mutex/inter-process-mutex.js';
export type { RevocationListener } from './mutex/report/lock-reporter.js';
export type { InterProcessMutexOptions } from './mutex/mutex-options.js';
export type { StickyMutexOptions, StickyOptions } from './sticky/sticky-way.js';
export type { WeightedMutexOptions, WeightOption, WeightsOptions } from './weighted/weighted-way.js';
export {
  InterProcessReadWriteLock,
  type InterProcessReadWriteLockOptions,
} from './read-write/inter-process-read-write-lock.js';
export { InterProcessSemaphore, type InterProcessSemaphoreOptions } from './semaphore/inter-process-semaphore.js';
export { InterProcessSemaphoreMutex } from './semaphore/inter-process-semaphore-mutex.js';
export { LeaseLock } from './semaphore/lease-lock.js';
export { InterProcessMultiLock, type PartOfMultiLock } from './multi-lock/inter-process-multi-lock.js';
export { MultiHold, type PartHold } from './multi-lock/multi-hold.js';
export { LeaderElection, type Candidate, type ObserveOptions } from './election/leader-election.js';
export type { CampaignOptions, LeaderElectionOptions, LeadOptions } from './election/election-options.js';
export { forceRelease, revoke, type ForceReleaseOptions } from './revocation/revocation.js';
export { watchQueue, type LockQueue, type WatchQueueOptions } from './observe/watch-queue.js';
export type { AskOptions } from './mutex/ask.js';
export type { AcquireOptions, MutexAcquireOptions } from './mutex/acquire-options.js';
export { Hold } from './mutex/hold.js';
export { GuardedTransaction, type WrittenZnode } from './mutex/transaction/guarded-transaction.js';
export type { CreateMode, CreateOptions, VersionOptions } from './mutex/transaction/transaction-options.js';
export type {
  AcquireMessage,
  HoldMessage,
  LockMessage,
  LockMode,
  ReleaseMessage,
  TransactionMessage,
} from './mutex/report/lock-tracing.js';
export type { PathLocks } from './mutex/path-locks.js';
export type { HoldEvents, LockObjectEvents } from './mutex/report/hold-events.js';
export { lockKey } from './mutex/lock-key.js';
export { lockContext } from './mutex/lock-context.js';
