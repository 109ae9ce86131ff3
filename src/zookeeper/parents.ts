import { absolute, createContainer, createPersistent, type AclEntry, type Operation } from './operations.js';
import { parentsOf } from './path.js';
import type { Session } from './session.js';
import { isZooKeeperError, ZooKeeperError } from './zookeeper-error.js';

/** Creates what is missing above a znode, the chroot's own znodes included; one for all sessions of a client. */
export class Parents {
  readonly #chroot: readonly string[];
  #containers: Containers = 'untried';

  constructor(chroot: string) {
    this.#chroot = parentsOf(chroot);
  }

  /**
   * Creates a lock's missing ancestors, and its own znode, as containers, which the server removes when they are empty
   * again.
   * The first container that a client ever creates goes alone, because a server that does not know the opcode closes
   * the
   * connection with all that stands behind it. What returns from the await of this function has sent the rest in this
   * very
   * tick, so that a create can follow in the same flush.
   *
   * @param aclFor asked for `/` where a znode of the chroot is missing
   * @returns the errors that may explain why the create behind it fails, once they are known
   */
  async send(
    session: Session,
    path: string,
    aclFor: (path: string) => readonly AclEntry[],
  ): Promise<{ readonly errors: Promise<unknown[]> }> {
    const missing = this.#above(path, aclFor);
    const errors: unknown[] = [];
    if (this.#containers === 'untried') {
      const first = missing.shift();
      if (first === undefined) return { errors: Promise.resolve([]) };
      try {
        await session.request(first(createContainer));
        this.#containers = 'known';
      } catch (error) {
        if (isZooKeeperError(error, 'UNIMPLEMENTED')) {
          this.#containers = 'unsupported';
          throw error;
        }
        // Any other refusal came from a server that understood the question.
        if (error instanceof ZooKeeperError && error.isDefinite) this.#containers = 'known';
        if (explains(error)) errors.push(error);
      }
    }
    const create = this.#containers === 'unsupported' ? createPersistent : createContainer;
    const sent = missing.map((creation) =>
      session.request(creation(create)).catch((error: unknown) => {
        if (isZooKeeperError(error, 'UNIMPLEMENTED')) this.#containers = 'unsupported';
        if (explains(error)) errors.push(error);
      }),
    );
    return { errors: Promise.all(sent).then(() => errors) };
  }

  /** In the order in which they must be created. */
  #above(path: string, aclFor: (path: string) => readonly AclEntry[]): ((create: Create) => Operation<string>)[] {
    return [
      ...this.#chroot.map((ofServers) => (create: Create) => absolute(create(ofServers, aclFor('/')))),
      ...parentsOf(path).map((below) => (create: Create) => create(below, aclFor(below))),
    ];
  }
}

type Create = typeof createContainer | typeof createPersistent;

/** What a client has learned of its servers: do they know containers (ZooKeeper 3.5.1; CURATOR-565)? */
type Containers = 'untried' | 'known' | 'unsupported';

/**
 * Whether it may be why the create behind it fails for good. Not the parent that is there, nor one that was reaped
 * again in this very moment
 * (CURATOR-180), nor the end of a connection. NO_AUTH may be: it also comes where the znode is there and its parent is
 * guarded, so the
 * create behind decides.
 */
function explains(error: unknown): boolean {
  return (
    !(error instanceof ZooKeeperError) ||
    !(error.isRetryable || error.is('NODE_EXISTS') || error.is('NO_NODE') || error.is('UNIMPLEMENTED'))
  );
}
