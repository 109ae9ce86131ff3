import { getChildList } from '../zookeeper/wire/operations.js';
import type { Session } from '../zookeeper/session/session.js';
import { isZooKeeperError } from '../zookeeper/wire/zookeeper-error.js';
import { isSameDriver } from '../driver/application-driver.js';
import type { LockDriver } from '../driver/lock-driver.js';
import { doubtfulNames, foreignNames, isSequenceNearOverflow } from '../driver/names.js';

/** The names of a lock's children, and the zxid of the answer that listed them. */
export class Listing {
  readonly zxid: bigint;
  readonly names: readonly string[];
  readonly #next: number;
  #doubtful: readonly string[] | undefined;
  #queue:
    | { readonly driver: LockDriver; readonly sorted: readonly string[]; readonly foreign: readonly string[] }
    | undefined;

  /** @param next the number that the next child gets */
  constructor(names: readonly string[], zxid: bigint, next = Infinity) {
    this.names = names;
    this.zxid = zxid;
    this.#next = next;
  }

  without(name: string): Listing {
    return new Listing(
      this.names.filter((one) => one !== name),
      this.zxid,
    );
  }

  /**
   * The names that contradict the rest of the answer, so that a bit of one may have been changed on its way. Near its last
   * number, a lock lists before each grant.
   */
  get doubtful(): readonly string[] {
    this.#doubtful ??= isSequenceNearOverflow(this.#next) ? [] : doubtfulNames(this.names, this.#next);
    return this.#doubtful;
  }

  /**
   * The children sorted and filtered, once for all callers that share the list. Otherwise a thousand waiters would sort
   * a thousand names a thousand times.
   */
  queue(driver: LockDriver): { readonly sorted: readonly string[]; readonly foreign: readonly string[] } {
    if (this.#queue === undefined || (this.#queue.driver !== driver && !isSameDriver(this.#queue.driver, driver))) {
      this.#queue = {
        driver,
        sorted: driver.sort(this.names),
        foreign: foreignNames(this.names, ...(driver.lockNames ?? [driver.lockName])),
      };
    }
    return this.#queue;
  }
}

/** Lists a lock's children, once for all callers in the same tick. */
export function listChildren(session: Session, path: string): Promise<Listing> {
  return session.companions.of(Lists).ask(path);
}

/**
 * A request about a lock's znode that all its callers in one tick share. It is sent behind all other requests of that
 * tick, in the same flush. Without it, a thousand acquires at once would get a thousand lists of a thousand names.
 */
export class OnceATick<T> {
  readonly #send: (path: string) => Promise<T>;
  readonly #pending = new Map<string, Promise<T>>();

  constructor(send: (path: string) => Promise<T>) {
    this.#send = send;
  }

  ask(path: string): Promise<T> {
    const shared = this.#pending.get(path);
    if (shared) return shared;
    const answer = new Promise<void>((resolve) => process.nextTick(resolve)).then(() => {
      this.#pending.delete(path);
      return this.#send(path);
    });
    this.#pending.set(path, answer);
    return answer;
  }
}

/** The pending lists of one session. */
class Lists extends OnceATick<Listing> {
  constructor(session: Session) {
    super((path) => list(session, path));
  }
}

async function list(session: Session, path: string): Promise<Listing> {
  try {
    const { value, zxid } = await session.request(getChildList(path));
    return new Listing(value.names, zxid, value.next);
  } catch (error) {
    // If the lock's own znode does not exist, it has no children: a child that was created there has been deleted with
    // it.
    if (isZooKeeperError(error, 'NO_NODE')) return new Listing([], session.connection.lastZxid);
    throw error;
  }
}
