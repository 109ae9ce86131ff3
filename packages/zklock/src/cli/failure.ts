import { AuthFailedError, ConnectionTimeoutError } from '../../../../src/client/report/client-errors.js';
import { LockLostError } from '../../../../src/client/report/lock-lost-error.js';
import { LockTimeoutError } from '../../../../src/client/report/lock-timeout-error.js';
import { InvalidPathError } from '../../../../src/zookeeper/wire/path.js';
import { TlsError } from '../../../../src/zookeeper/network/tls-error.js';
import { isZooKeeperError } from '../../../../src/zookeeper/wire/zookeeper-error.js';
import { exitCodes } from './exit-code.js';
import { UsageError } from './usage-error.js';

/** The exit code for an error that ended a verb. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof InvalidPathError) return exitCodes.usage;
  if (error instanceof ConnectionTimeoutError) return exitCodes.unreachable;
  if (error instanceof TlsError)
    return error.problem === 'client-certificate' ? exitCodes.notAllowed : exitCodes.unreachable;
  if (error instanceof LockTimeoutError)
    return error.reason === 'no-answer' ? exitCodes.unreachable : exitCodes.notAcquired;
  if (error instanceof LockLostError) return exitCodes.lost;
  return isRefusedAccess(error) ? exitCodes.notAllowed : exitCodes.failed;
}

function isRefusedAccess(error: unknown): boolean {
  if (error instanceof AuthFailedError) return true;
  const { cause } = (error ?? {}) as { cause?: unknown };
  return [error, cause].some((each) => isZooKeeperError(each, 'NO_AUTH', 'INVALID_ACL'));
}
