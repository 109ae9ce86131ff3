/// <reference types="node" preserve="true" />
import './mutex/path-locks.js';
import './sticky/sticky-way.js';
import './weighted/weighted-way.js';

export { LockClient } from './client/lock-client.js';
export type { LockClientEvents } from './client/client-report.js';
export type { ClientHealth, ErrorFacts } from './client/client-health.js';
export type { SessionMessage } from './client/session-tracing.js';
export type { BackgroundEvent } from './client/background-event.js';
export type { Acl, AclProvider } from './client/access-rights.js';
export type { LockClientOptions } from './client/client-options.js';
export type { DigestMd5Options, SaslOptions } from './client/sasl-options.js';
export type { SaslHandshake, SaslMechanism, SaslPeer, SaslSource } from './zookeeper/sasl-handshake.js';
export type { TlsOptions } from './client/tls-options.js';
export type { LogDetails, Logger } from './client/logger.js';
export type { LockEvent, LockEventBase, LockEventOfHold, LockKind } from './client/lock-event.js';
export type { AclEntry } from './zookeeper/operations.js';
export type { Credential } from './zookeeper/connection-options.js';
export type { ConnectionState } from './client/connection-state.js';
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
} from './client/retry-policy.js';
export {
  AuthFailedError,
  ClientClosedError,
  ConnectionTimeoutError,
  RequestFailedError,
  SessionExpiredError,
  type FailedOperation,
} from './client/client-errors.js';
export {
  DeadlockError,
  ForeignNodeError,
  NotOwnedError,
  OutcomeUnknownError,
  SequenceOverflowError,
} from './internals/lock-errors.js';
export { LockLostError, type LossReason } from './client/lock-lost-error.js';
export { LockTimeoutError } from './client/lock-timeout-error.js';
export type { KnownHolder, TimedOut, TimeoutReason } from './client/timeout-text.js';
export { ForeignDataError } from './weighted/foreign-data-error.js';
export type { SaslAccount } from './zookeeper/digest-md5.js';
export { TlsError, type TlsProblem } from './zookeeper/tls-error.js';
export { InvalidPathError } from './zookeeper/invalid-path-error.js';
export { LimitMismatchError } from './semaphore/limit-mismatch-error.js';
export { LockError, type LockErrorCode } from './support/lock-error.js';
export { ZooKeeperError } from './zookeeper/zookeeper-error.js';
export type { LockDecision, LockDriver } from './driver/lock-driver.js';
export type { WeightsOptions } from './weighted/weights-options.js';
export { StandardDriver } from './driver/standard-driver.js';
export type { Participant } from './internals/participants.js';
export type { ReleaseOutcome } from './internals/grant.js';
export type { LockOwner } from './internals/lock-owner.js';
export { InterProcessMutex, type InterProcessMutexEvents } from './mutex/inter-process-mutex.js';
export type { RevocationListener } from './mutex/mutex-acquirer.js';
export type { InterProcessMutexOptions } from './mutex/mutex-options.js';
export type { StickyMutexOptions, StickyOptions } from './sticky/sticky-way.js';
export type { WeightedMutexOptions, WeightOption } from './weighted/weighted-way.js';
export {
  InterProcessReadWriteLock,
  type InterProcessReadWriteLockOptions,
} from './read-write/inter-process-read-write-lock.js';
export { InterProcessSemaphore, type InterProcessSemaphoreOptions } from './semaphore/inter-process-semaphore.js';
export { InterProcessSemaphoreMutex } from './semaphore/inter-process-semaphore-mutex.js';
export { InterProcessMultiLock } from './multi-lock/inter-process-multi-lock.js';
export type { PartHold, PartOfMultiLock } from './multi-lock/part-of-multi-lock.js';
export { MultiHold } from './multi-lock/multi-hold.js';
export { LeaderElection, type ObserveOptions } from './election/leader-election.js';
export type { CampaignOptions, LeaderElectionOptions, LeadOptions } from './election/election-options.js';
export type { Candidate } from './election/candidate.js';
export { forceRelease, revoke, type ForceReleaseOptions } from './revocation/revocation.js';
export { watchQueue, type LockQueue, type WatchQueueOptions } from './observe/watch-queue.js';
export type { AskOptions } from './mutex/ask.js';
export type { AcquireOptions, MutexAcquireOptions } from './mutex/acquire-options.js';
export { Hold } from './mutex/hold.js';
export { GuardedTransaction, type WrittenZnode } from './mutex/guarded-transaction.js';
export type { CreateMode, CreateOptions, VersionOptions } from './mutex/transaction-options.js';
export type {
  AcquireMessage,
  HoldMessage,
  LockMessage,
  LockMode,
  ReleaseMessage,
  TransactionMessage,
} from './mutex/lock-tracing.js';
export type { PathLocks } from './mutex/path-locks.js';
export type { HoldEvents, LockObjectEvents } from './mutex/hold-events.js';
export { lockKey } from './mutex/lock-key.js';
export { lockContext } from './mutex/lock-context.js';
