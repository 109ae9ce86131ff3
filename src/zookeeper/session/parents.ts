import { absolute, createContainer, createPersistent, type AclEntry, type Operation } from '../wire/operations.js';
import { parentsOf } from '../wire/path.js';
import type { Servers } from '../wire/connect-string.js';
import type { Session } from './session.js';
import { isZooKeeperError, ZooKeeperError } from '../wire/zookeeper-error.js';

/**
 * Creates the missing parents of a znode, including the chroot's own znodes. One instance serves all sessions of a
 * client.
 */
export class Parents {
  readonly #servers: Pick<Servers, 'chroot'>;
  #containers: Containers = 'untried';

  constructor(servers: Pick<Servers, 'chroot'>) {
    this.#servers = servers;
  }

  /**
   * Creates a lock's missing ancestors, and its own znode, as containers, which the server removes when they are empty
   * again. The first container that a client ever creates is sent alone, because a server that does not support the
   * opcode closes the connection with all the requests behind it. When the promise resolves, the other creates have
   * been sent in the same tick, so that the caller's create can follow in the same flush.
   *
   * @param aclFor called with `/` for a missing znode of the chroot
   * @returns a promise of the errors that may explain why the create behind them fails
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
        // Any other refusal came from a server that supports the opcode.
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

  /** The creates of all ancestors, in the order in which they must be executed. */
  #above(path: string, aclFor: (path: string) => readonly AclEntry[]): ((create: Create) => Operation<string>)[] {
    return [
      ...parentsOf(this.#servers.chroot).map(
        (ofServers) => (create: Create) => absolute(create(ofServers, aclFor('/'))),
      ),
      ...parentsOf(path).map((below) => (create: Create) => create(below, aclFor(below))),
    ];
  }
}

type Create = typeof createContainer | typeof createPersistent;

/** A client's knowledge about its servers: do they support containers (ZooKeeper 3.5.1; CURATOR-565)? */
type Containers = 'untried' | 'known' | 'unsupported';

/**
 * True if the error may be the reason why the create behind it fails permanently. Not if the parent exists already, or
 * was deleted again at this moment (CURATOR-180), or the connection ended. NO_AUTH may be the reason. But the server
 * also answers NO_AUTH if the znode exists and its parent is protected, so the create behind it decides.
 */
function explains(error: unknown): boolean {
  return (
    !(error instanceof ZooKeeperError) ||
    !(error.isRetryable || error.is('NODE_EXISTS') || error.is('NO_NODE') || error.is('UNIMPLEMENTED'))
  );
}
