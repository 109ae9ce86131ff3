import type { LockHost } from '../client/lock-host.js';
import type { Deadline } from '../support/deadline.js';
import type { Session } from '../zookeeper/session/session.js';
import { watchKindOf, type Watched } from '../zookeeper/session/watches.js';
import { lockDeadline } from './lock-deadline.js';

/** Reads znodes again and again, each time after one of the watches that the last reading planted has fired. */
export class ChangeWatch {
  readonly #host: LockHost;
  readonly #path: string;
  readonly #deadline: Deadline;
  #session: Session | undefined;
  /** The watches that the last reading planted. Keys without duplicates. */
  #planted = new Map<string, Planted>();
  #stopListening: () => void = () => {};
  #hasChanged = true;
  #wake: () => void = () => {};

  /** @param path the znode for which a server catches up before the first reading of a session */
  constructor(host: LockHost, path: string, deadline: Deadline) {
    this.#host = host;
    this.#path = path;
    this.#deadline = deadline;
  }

  /**
   * Waits for a change since the last reading, and reads. If an answer is lost, reads again: the next connection sets
   * the watches again, but reports nothing that happened before the last answer.
   *
   * Reads also without a change, after ten session timeouts: servers send no event of a znode to a client that may not
   * read it any more (CVE-2024-23944), and the reading finds the refusal.
   */
  async next<T>(read: (session: Session) => Promise<T>): Promise<T> {
    if (!this.#hasChanged) {
      await this.#deadline.wait<undefined>((wake) => {
        const { clock, sessions } = this.#host;
        const cancel = clock.after(timeoutsBetweenReadings * sessions.timeoutMs, () => wake(undefined));
        this.#wake = () => wake(undefined);
        return () => {
          cancel();
          this.#wake = () => {};
        };
      });
    }
    const question = async (session: Session): Promise<T> => {
      // Reset first: an event from here on is a new change.
      this.#hasChanged = false;
      this.#follow(session);
      const before = this.#planted;
      this.#planted = new Map();
      try {
        return await read(session);
      } finally {
        this.#unwatch(
          session,
          [...before].filter(([key]) => !this.#planted.has(key)).map(([, planted]) => planted),
        );
      }
    };
    return this.#host.sessions.ask(question, this.#deadline);
  }

  /** As `Session.watch`. A change wakes the next reading. */
  watch<What extends keyof Watched>(session: Session, path: string, what: What): Promise<Watched[What] | undefined> {
    this.#deadline.check();
    this.#planted.set(`${watchKindOf(what)} ${path}`, { path, what });
    return session.watches.plant(path, what, this.#fired);
  }

  close(): void {
    this.#leave();
    this.#wake = () => {};
  }

  /**
   * Follows the client's session. The watches of a session end with it; the next session may be with a server that lags
   * behind.
   */
  #follow(session: Session): void {
    if (this.#session === session) return;
    this.#leave();
    this.#session = session;
    this.#stopListening = session.onChange(() => session.isEnded && this.#fired());
    session.catchUp(this.#path);
  }

  #leave(): void {
    this.#stopListening();
    this.#stopListening = () => {};
    if (this.#session) this.#unwatch(this.#session, [...this.#planted.values()]);
    this.#planted = new Map();
    this.#session = undefined;
  }

  #unwatch(session: Session, planted: readonly Planted[]): void {
    for (const { path, what } of planted) session.watches.remove(path, what, this.#fired, { forget: true });
  }

  readonly #fired = (): void => {
    this.#hasChanged = true;
    this.#wake();
  };
}

/**
 * Yields what `look` of a watch finds, unless `key` says that it is as the last time. Ends when the signal aborts or the
 * client is closed, and leaves no watch behind.
 */
export async function* everyChange<Found>(
  host: LockHost,
  path: string,
  signal: AbortSignal | undefined,
  open: (deadline: Deadline) => { look(): Promise<Found>; close(): void },
  key: (found: Found) => string | undefined,
): AsyncGenerator<Found, void, undefined> {
  const deadline = lockDeadline(host, path, { signal });
  // Throws for a signal that accepts no listener, which would otherwise look like one that has aborted.
  if (!signal?.aborted && !host.isClosing) deadline.check();
  const watch = open(deadline);
  // This closes the watch also while the body of the loop runs, which may take long.
  deadline.onEnd(() => watch.close());
  try {
    let last: string | undefined = 'not read yet';
    while (!deadline.isExpired) {
      const found = await watch.look();
      const now = key(found);
      if (now === last) continue;
      last = now;
      yield found;
    }
  } catch (error) {
    if (!deadline.isExpired) throw error;
  } finally {
    watch.close();
    deadline.dispose();
  }
}

const timeoutsBetweenReadings = 10;

interface Planted {
  readonly path: string;
  readonly what: keyof Watched;
}
