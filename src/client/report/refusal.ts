import { printableJson } from '../../support/printable.js';
import { accountText } from '../options/access-rights.js';
import { RequestFailedError } from './client-errors.js';
import type { CheckedClientOptions } from '../options/client-options.js';
import { TooLongError } from '../../zookeeper/wire/frames.js';
import { parentOf } from '../../zookeeper/wire/path.js';
import { errorNumbers, neededServers, unknownRequestIn, ZooKeeperError } from '../../zookeeper/wire/zookeeper-error.js';

/** The error of a request that a server refused, with advice. */
export function requestFailed(options: CheckedClientOptions, what: string, error: ZooKeeperError): RequestFailedError {
  return new RequestFailedError(what, error, refusalAdvice(options, error));
}

/** For `catch`: rethrows a ZooKeeperError with a message that names the call. */
export function refused(options: CheckedClientOptions, what: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ZooKeeperError ? requestFailed(options, what, error) : error;
  };
}

/** The error of an acquire whose znode was not in the list, if the retry policy allows no further try. */
export function znodeDeleted(path: string): RequestFailedError {
  const cause = new ZooKeeperError(errorNumbers.NO_NODE, 'getChildren2', path);
  return new RequestFailedError(
    `The lock ${path} cannot be acquired`,
    cause,
    'the znode of this waiter is not in the queue, because another client deleted it or its create was changed on the way, and the retryPolicy allows no further try',
  );
}

/** The meaning of the refusal, and what to do about it. */
export function refusalAdvice(options: CheckedClientOptions, error: ZooKeeperError): string | undefined {
  if (error.is('NO_AUTH')) {
    const { verb, path } = rightsOf(error);
    const auth = options.auth();
    const who = accountText(auth, options.others);
    const password =
      auth.length > 0 ? '. A wrong password shows only here, because the servers accept every digest at first' : '';
    return `${who} may not ${verb} ${path}${password}. Ask who owns ${path} for that permission, or check the option \`auth\``;
  }
  if (error.is('INVALID_ACL')) {
    const schemes = [...options.aclSchemes].map((scheme) => printableJson(scheme)).join(', ');
    return `the servers refused the option \`acl\` for ${error.path}: they do not know one of its schemes (${schemes}), or an id does not have the form of its scheme`;
  }
  if (error.is('NO_CHILDREN_FOR_EPHEMERALS'))
    return `a znode above ${error.path} belongs to a session, such as that of a lock's holder, and cannot have children. Use a path that is not below another lock, in all clients at once`;
  const unknown = error.isDefinite ? unknownRequestIn(error) : undefined;
  if (unknown) return `${unknown.message}. ${unknown.cure}`;
  if (error.is('UNIMPLEMENTED')) return `the server does not know the request. ${neededServers}`;
  if (error.cause instanceof TooLongError)
    return `${error.cause.message}. Divide the lock at ${error.path} into several, in all clients at once, or look for znodes there that do not belong to it`;
  if (error.is('EPHEMERAL_ON_LOCAL_SESSION'))
    return 'the servers give out local sessions, which cannot hold locks: set localSessionsUpgradingEnabled=true in their configuration';
  return undefined;
}

/** The permission that was missing, and the znode. */
function rightsOf({ operation, path }: ZooKeeperError): { verb: string; path: string } {
  const parent = parentOf(path);
  if (operation.startsWith('create')) return { verb: 'create below', path: parent };
  if (operation === 'delete') return { verb: 'delete below', path: parent };
  return { verb: operation === 'setData' ? 'write' : 'read', path };
}
