import type { AclEntry } from '../zookeeper/operations.js';
import { createContainer, createPersistent } from '../zookeeper/operations.js';
import { parentsOf } from '../zookeeper/path.js';
import type { Session } from '../zookeeper/session.js';
import { isZooKeeperError, ZooKeeperError } from '../zookeeper/zookeeper-error.js';

/** What a client has learned of its servers: do they know containers (ZooKeeper 3.5.1; CURATOR-565)? */
type Containers = 'untried' | 'known' | 'unsupported';

const learned = new WeakMap<object, Containers>();

/**
 * Creates a lock's missing ancestors, and its own znode, as containers, which the server removes when they are empty again.
 * The first container that a client ever creates goes alone, because a server that does not know the opcode closes the
 * connection with all that stands behind it. What returns from the await of this function has sent the rest in this very
 * tick, so that a create can follow in the same flush.
 *
 * @returns the errors that may explain why the create behind it fails, once they are known
 */
export async function sendParents(
  client: object,
  session: Session,
  root: string,
  aclFor: (path: string) => readonly AclEntry[],
): Promise<{ readonly errors: Promise<unknown[]> }> {
  const paths = parentsOf(root);
  const errors: unknown[] = [];
  if ((learned.get(client) ?? 'untried') === 'untried') {
    const first = paths.shift();
    if (first === undefined) return { errors: Promise.resolve([]) };
    try {
      await session.request(createContainer(first, aclFor(first)));
      learned.set(client, 'known');
    } catch (error) {
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) {
        learned.set(client, 'unsupported');
        throw error;
      }
      // Any other refusal came from a server that understood the question.
      if (error instanceof ZooKeeperError && error.isDefinite) learned.set(client, 'known');
      if (explains(error)) errors.push(error);
    }
  }
  const create = learned.get(client) === 'unsupported' ? createPersistent : createContainer;
  const sent = paths.map((path) =>
    session.request(create(path, aclFor(path))).catch((error: unknown) => {
      if (isZooKeeperError(error, 'UNIMPLEMENTED')) learned.set(client, 'unsupported');
      if (explains(error)) errors.push(error);
    }),
  );
  return { errors: Promise.all(sent).then(() => errors) };
}

/**
 * Whether it may be why the create behind it fails for good. Not the parent that is there, nor one that was reaped again in this very moment
 * (CURATOR-180), nor the end of a connection. NO_AUTH may be: it also comes where the znode is there and its parent is guarded, so the
 * create behind decides.
 */
function explains(error: unknown): boolean {
  return !(error instanceof ZooKeeperError) || !(error.isRetryable || error.is('NODE_EXISTS') || error.is('NO_NODE') || error.is('UNIMPLEMENTED'));
}
