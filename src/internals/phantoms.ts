import type { LockHost } from '../client/lock-host.js';
import { RecentKeys } from '../client/report/recent-keys.js';
import { inNoContext } from '../support/no-context.js';
import type { CancelTimer } from '../support/clock.js';
import { exists } from '../zookeeper/wire/operations.js';
import { check } from '../zookeeper/wire/transaction.js';
import type { Session } from '../zookeeper/session/session.js';
import { unownedText } from './znode/unowned.js';
import { reached } from '../support/reached.js';

/**
 * Asks the quorum, after each session timeout of waiting, whether the znodes that a waiter waits for exist. A follower
 * that has lost transactions goes on showing a znode that all other servers have deleted (ZOOKEEPER-4837,
 * ZOOKEEPER-5010), and its waiters would wait without a word. A znode that only this server shows makes the session
 * attach to another server, which reports the deletion. A znode that no session owns is told: it is never deleted by the
 * servers, and its waiters would wait without a word as well.
 *
 * The same question finds the deletion of a znode whose rights were changed during the wait: servers withhold its event from
 * a client that may not read it any more (CVE-2024-23944).
 *
 * @param paths the znodes, at most a hundred of which are asked for
 * @param recheck called at another server, or if this server does not show the znode either and has not told its deletion
 * @returns a function that ends the questions
 */
export function seekPhantoms(
  session: Session,
  host: LockHost,
  paths: readonly string[],
  recheck: () => void,
): () => void {
  return session.companions.of(PhantomSeeker).add(paths.slice(0, mostPaths), recheck, host);
}

/**
 * As `seekPhantoms`, for a waiter that is not next: the znodes before it may all be phantoms of one session, and then
 * nobody else asks. It asks so rarely that a long queue stays cheap: all its waiters together ask a few times in ten
 * session timeouts.
 *
 * @param position the number of znodes before the waiter, or before it and of its weight
 */
export function seekPhantomsFar(
  session: Session,
  host: LockHost,
  paths: readonly string[],
  position: number,
  recheck: () => void,
): () => void {
  const { timeoutMs } = session;
  let end = (): void => {};
  const later = (pauseMs: number, run: () => void): CancelTimer => inNoContext(() => host.clock.after(pauseMs, run));
  const rest = (): void => {
    end = later(position * timeoutsPerPlace * timeoutMs, () => {
      const stop = seekPhantoms(session, host, paths, recheck);
      // The question is sent after one timeout.
      const cancel = later(1.5 * timeoutMs, () => {
        stop();
        rest();
      });
      end = () => {
        stop();
        cancel();
      };
    });
  };
  rest();
  return () => end();
}

/** The questions of all waiters of one session: one for each znode, however many wait for it. */
class PhantomSeeker {
  readonly #session: Session;
  /** In the order in which the questions are due. */
  readonly #places = new Map<string, Place>();
  #cancel: CancelTimer | undefined;
  /** The last phantoms that the log has named, with their servers. A waiter that looks again is a new one. */
  readonly #told = new RecentKeys();

  constructor(session: Session) {
    this.#session = session;
  }

  add(paths: readonly string[], recheck: () => void, host: LockHost): () => void {
    const dueAt = host.clock.now() + this.#session.timeoutMs;
    for (const path of paths) {
      const place = this.#places.get(path) ?? { path, dueAt, host, waiters: new Set(), owner: 'unknown' };
      this.#places.set(path, place);
      place.waiters.add(recheck);
    }
    this.#schedule();
    return () => {
      for (const path of paths) {
        const place = this.#places.get(path);
        if (place?.waiters.delete(recheck) && place.waiters.size === 0) this.#places.delete(path);
      }
      if (this.#places.size === 0) {
        this.#cancel?.();
        this.#cancel = undefined;
      }
    };
  }

  #schedule(): void {
    const [first] = this.#places.values();
    if (this.#cancel || !first) return;
    const { clock } = first.host;
    this.#cancel = inNoContext(() =>
      clock.after(Math.max(0, first.dueAt - clock.now()), () => {
        this.#cancel = undefined;
        void this.#askDue(clock.now());
        this.#schedule();
      }),
    );
  }

  async #askDue(now: number): Promise<void> {
    const { timeoutMs } = this.#session;
    const due = [...this.#places.values()].filter(({ dueAt }) => dueAt <= now + timeoutMs / 8).slice(0, mostPaths);
    for (const place of due) {
      this.#places.delete(place.path);
      this.#places.set(place.path, { ...place, dueAt: now + timeoutMs });
    }
    for (const { path, owner } of due) if (owner === 'unknown') void this.#readOwner(path);
    let left = due.map(({ path }) => path);
    while (left.length > 0) {
      const found = await phantomAmong(this.#session, left).catch(unknownYet);
      if (!found) return;
      this.#found(found);
      // A client whose waiters have left meanwhile writes no transaction.
      left = left.slice(left.indexOf(found.path) + 1).filter((behind) => this.#places.has(behind));
    }
  }

  /** Each znode is read once: its owner never changes. */
  async #readOwner(path: string): Promise<void> {
    const stat = await this.#session.find(exists(path)).catch(unknownYet);
    const place = this.#places.get(path);
    if (!stat || !place) return;
    place.owner = 'known';
    const { report } = place.host;
    if (stat.ephemeralOwner !== 0n || !this.#told.isNew(path)) return;
    const onServers = report.onServers(path);
    report.warn(`A lock is waited for that nobody can release: ${unownedText(onServers, onServers)}`, undefined);
  }

  #found({ is, path }: Found): void {
    const place = this.#places.get(path);
    if (!place || is === 'hidden') return;
    const recheck = (): void => [...place.waiters].forEach((each) => each());
    if (is === 'gone') {
      reached('predecessor deleted without an event');
      recheck();
      return;
    }
    const { server } = this.#session.connection;
    const { report } = place.host;
    if (this.#told.isNew(`${server} ${path}`))
      report.warn(
        `${phantomText(this.#session, report.onServers(path))}. Connecting to another server if there is one`,
        undefined,
      );
    // A watch on a list of children does not tell of deletions that the wrong server should have shown before.
    this.#session.attachElsewhere(recheck);
  }
}

/** One znode that is waited for. Times in monotonic milliseconds. */
interface Place {
  readonly path: string;
  readonly dueAt: number;
  readonly host: LockHost;
  readonly waiters: Set<() => void>;
  owner: 'unknown' | 'known';
}

/** `hidden`: it exists, and this client may not read it. */
interface Found {
  readonly is: 'phantom' | 'gone' | 'hidden';
  readonly path: string;
}

/**
 * The first of the znodes that the quorum does not have, or does not show. `phantom` if the quorum does not have it, and
 * this server shows it all the same. The servers do not look at the znodes behind it.
 */
export async function phantomAmong(session: Session, paths: readonly string[]): Promise<Found | undefined> {
  const { value } = await session.request(check(paths));
  if (value.is === 'done') return undefined;
  const path = paths[value.errors.findIndex((error) => error !== undefined)];
  if (path === undefined) return undefined;
  if (value.error.is('NO_AUTH')) return { is: 'hidden', path };
  if (!value.error.is('NO_NODE')) return undefined;
  // The answer above comes behind every deletion that this server has learned of.
  return { is: (await session.find(exists(path))) ? 'phantom' : 'gone', path };
}

/** The words for a phantom, and for what to do. */
export function phantomText(session: Session, pathOnServers: string): string {
  return `${session.connection.server} shows ${pathOnServers}, which the quorum does not have (ZOOKEEPER-5010): stop that server, empty its data directory, and start it again`;
}

const mostPaths = 100;

const timeoutsPerPlace = 10;

function unknownYet(): undefined {
  // The next question is asked after the next session timeout, perhaps on another connection.
}
