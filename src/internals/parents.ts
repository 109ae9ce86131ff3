import type { AclEntry } from '../client/operations.js';
import { createContainer, createPersistent } from '../client/operations.js';
import { parentsOf } from '../client/path.js';
import type { Session } from '../client/session.js';
import { isZooKeeperError } from '../client/zookeeper-error.js';

/** What a client has learned of its servers: do they know containers (ZooKeeper 3.5.1; CURATOR-565)? */
type Containers = 'untried' | 'known' | 'unsupported';

const learned = new WeakMap<object, Containers>();

const steps = new WeakMap<object, Map<string, Promise<void>>>();

/**
 * One caller creates the parents of a path; those who come meanwhile wait behind it, in their order. Otherwise a later acquire of the
 * same process would pass the first one while that makes room for both.
 */
export function parentsStep(client: object, root: string): { readonly pending: Promise<void> | undefined; begin(): () => void } {
  const known = steps.get(client) ?? new Map<string, Promise<void>>();
  steps.set(client, known);
  return {
    pending: known.get(root),
    begin() {
      let finish = (): void => undefined;
      const step = new Promise<void>((resolve) => {
        finish = () => {
          known.delete(root);
          resolve();
        };
      });
      known.set(root, step);
      return finish;
    },
  };
}

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
      // Any other answer came from a server that understood the question.
      if (!isZooKeeperError(error, 'CONNECTION_LOSS')) learned.set(client, 'known');
      if (!isZooKeeperError(error, 'NODE_EXISTS')) errors.push(error);
    }
  }
  const create = learned.get(client) === 'unsupported' ? createPersistent : createContainer;
  const sent = paths.map((path) =>
    session.request(create(path, aclFor(path))).catch((error: unknown) => {
      // NO_AUTH too comes where the znode is there and its parent is guarded: the create behind decides.
      if (!isZooKeeperError(error, 'NODE_EXISTS')) errors.push(error);
    }),
  );
  return { errors: Promise.all(sent).then(() => errors) };
}
