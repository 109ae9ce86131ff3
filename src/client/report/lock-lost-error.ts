import { LockError } from '../../support/lock-error.js';

/**
 * The hold is no longer valid, and another client may hold the lock now. Stop the work that the lock protects.
 *
 * @example
 * hold.signal.addEventListener('abort', () => console.error(hold.signal.reason.reason)); // 'session-deadline'
 */
export class LockLostError extends LockError {
  /** See {@link LossReason}. */
  readonly reason: LossReason;
  /** The path of the hold's znode. */
  readonly path: string;

  static {
    this.prototype.name = 'LockLostError';
  }

  constructor(path: string, reason: LossReason, options?: { cause?: unknown }, why = lossTexts[reason]) {
    super('ERR_LOCK_LOST', `The lock held by ${path} was lost: ${why}`, options);
    this.path = path;
    this.reason = reason;
  }

  /** @internal */
  protected override get docsSection(): string {
    return this.reason;
  }
}

/**
 * The reason why a hold ended before it was released:
 * - `session-deadline`: no server answered in time, so the servers may have granted the lock to another client;
 * - `session-expired`: the servers said that the session has ended;
 * - `node-deleted`: another client deleted the hold's znode;
 * - `forced`: another client called `forceRelease`, and will delete the hold's znode unless it is released in time;
 * - `lease-expired`: its `leaseMs` passed without a renewal;
 * - `client-closed`: this process closed its client.
 */
export type LossReason =
  'session-expired' | 'session-deadline' | 'node-deleted' | 'forced' | 'lease-expired' | 'client-closed';

const lossTexts: Record<LossReason, string> = {
  'session-expired': 'the server expired its session',
  'session-deadline':
    'no server answered its session in time, so the servers may have granted the lock to another client',
  'node-deleted': 'another client deleted its znode',
  forced: 'another client released it by force',
  'lease-expired': 'its lease ended without a renewal',
  'client-closed': 'its client was closed. Let the jobs end before client.close()',
};
