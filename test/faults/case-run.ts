import {
  LockClient,
  LockError,
  retryForever,
  type AcquireOptions,
  type Hold,
  type LockErrorCode,
} from '../../src/index.ts';
import { testPath } from '../../lab/test-path.ts';
import { until } from '../../lab/until.ts';
import { startProxy, type ZkProxy } from '../../lab/proxy/zk-proxy.ts';
import { stalledSinceMs } from './alarms.ts';
import { Eavesdropper } from './eavesdropper.ts';
import { mutex, type Kind, type Lock } from './kinds.ts';
import { Owners } from './owners.ts';
import type { Scenario } from './scenario.ts';
import { sessionTimeoutMs, tickTimeMs, type Fixture } from './fixture.ts';
import { Wire } from './wire.ts';

/** Far longer than any case may take: a wait of this length is ended by the time limit of the case. */
export const ageMs = 60_000;

/** How late a timer may be on an event loop that does not stall. */
const timerMs = 100;

/** One run of a case: its lock, the client under test behind its own proxy, and a bystander on a good connection. */
export class CaseRun implements AsyncDisposable {
  readonly fixture: Fixture;
  readonly wire: Wire;
  readonly kind: Kind;
  readonly path: string;
  readonly warnings: string[] = [];
  /** The reasons why the fault did not happen. */
  readonly misses: string[] = [];
  readonly owners: Owners;
  readonly #eavesdropper: Eavesdropper;
  /** The error codes with which an acquire may reject in this case. */
  readonly permitted = new Set<LockErrorCode>();
  readonly #pending = new Map<object, string>();
  readonly #healing: Promise<void>[] = [];
  #isOver = false;
  #subject: LockClient | undefined;

  static async open(fixture: Fixture, scenario: Scenario): Promise<CaseRun> {
    return new CaseRun(fixture, await startProxy(fixture.server.port), scenario);
  }

  private constructor(fixture: Fixture, proxy: ZkProxy, { kind = mutex, depth = 'lock' }: Scenario) {
    this.fixture = fixture;
    this.wire = new Wire(proxy);
    this.kind = kind;
    this.path = testPath(depth);
    const warn = (warning: string): void => void this.warnings.push(warning);
    this.#eavesdropper = new Eavesdropper(warn);
    this.owners = new Owners(kind, fixture.running, warn, (hold) => this.#eavesdropper.follow(hold));
  }

  /** The client under test. */
  get subject(): LockClient {
    if (!this.#subject) throw new Error('The client under test has not connected yet');
    return this.#subject;
  }

  get hasSubject(): boolean {
    return this.#subject !== undefined;
  }

  get bystander(): LockClient {
    return this.fixture.bystander;
  }

  /** The calls that have not settled, for the report of a hang. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  /** Connects the client under test; rejects as `LockClient.connect` does. */
  async connect(options: { readonly connectionTimeoutMs?: number; readonly knowsTick?: boolean } = {}): Promise<void> {
    const { connectionTimeoutMs = ageMs, knowsTick = true } = options;
    const connecting = LockClient.connect(this.wire.proxy.connectString, {
      sessionTimeoutMs,
      connectionTimeoutMs,
      retryPolicy: retryForever(20),
      ...(knowsTick && { tickTimeMs }),
    });
    this.#subject = await this.track('connect', connecting);
    this.#eavesdropper.listenTo(this.#subject);
  }

  /** Acquires the lock for `client`, and resolves with the hold. */
  async held(client: LockClient, lock?: Lock): Promise<Hold> {
    const hold = await this.acquire(client, {}, lock);
    if (!hold) throw new Error(`${this.#nameOf(client)} did not get a lock that was free`);
    if (client === this.#subject) await this.watched(hold);
    return hold;
  }

  /**
   * Acquires the lock. Resolves with undefined if the acquire was refused in a way that the case permits, or did not
   * get the lock. Never rejects.
   */
  async acquire(
    client: LockClient,
    options: AcquireOptions = {},
    lock = this.kind.open(client, this.path),
  ): Promise<Hold | undefined> {
    const [hold] = await this.acquireAll(client, options, async () => [await lock.acquire(options)]);
    return hold;
  }

  /** Like `acquire`, for several holds that come all at once. */
  async acquireAll(
    client: LockClient,
    options: AcquireOptions,
    acquire: () => Promise<readonly Hold[]>,
  ): Promise<readonly Hold[]> {
    const who = this.#nameOf(client);
    const deadline = performance.now() + (options.timeoutMs ?? Infinity);
    try {
      const holds = await this.track(`an acquire of ${who}`, acquire());
      if (this.#isOver) {
        await Promise.all(holds.map((hold) => hold.release()));
        return [];
      }
      for (const hold of holds) this.owners.granted(who, hold);
      return holds;
    } catch (error) {
      const isTimeout = options.timeoutMs !== undefined && isCoded(error, 'ERR_LOCK_TIMEOUT');
      const isAbort = options.signal?.aborted === true && error === options.signal.reason;
      if (!isTimeout && !isAbort) this.#judge(`an acquire of ${who}`, error);
      return [];
    } finally {
      const lateMs = performance.now() - deadline - stalledSinceMs(deadline);
      if (lateMs > timerMs)
        this.warnings.push(
          `an acquire of ${who} with a timeout of ${options.timeoutMs ?? 0} ms settled ${Math.round(lateMs)} ms after it`,
        );
    }
  }

  async tryAcquire(client: LockClient): Promise<Hold | undefined> {
    const who = this.#nameOf(client);
    try {
      const hold = await this.track(`a tryAcquire of ${who}`, this.kind.open(client, this.path).tryAcquire());
      if (hold) this.owners.granted(who, hold);
      return hold;
    } catch (error) {
      this.#judge(`a tryAcquire of ${who}`, error);
      return undefined;
    }
  }

  async release(hold: Hold | undefined): Promise<void> {
    if (!hold) return;
    await this.wait('the fault has happened', () => true);
    this.owners.released(hold);
    await this.track('a release', hold.release());
  }

  /** Closes the client under test. Its waiters may then reject with ERR_LOCK_CLIENT_CLOSED. */
  async close(): Promise<void> {
    this.permitted.add('ERR_LOCK_CLIENT_CLOSED');
    await this.track('close', this.subject.close());
  }

  /**
   * Waits until an acquire of the client under test is in the queue and watches one of these znodes, or any znode if
   * none is given, or until it has settled. Only frames after the first `past` count.
   */
  async untilWaiting(
    acquiring: Promise<unknown>,
    paths: readonly string[],
    { past = this.wire.frames.length, places = 1, folder = this.#folder } = {},
  ): Promise<void> {
    let isSettled = false;
    void acquiring.then(() => (isSettled = true));
    await this.wait(`a watch on ${paths.join(' or ') || 'its own znode'}`, async () => {
      if (!isSettled && this.wire.isWatched(paths, past))
        return (await this.queue(folder)).filter(({ isSubjects }) => isSubjects).length >= places;
      return isSettled;
    });
  }

  /**
   * Waits until the client under test has the watch on its own znode, or the hold is over. Then no request is in flight
   * any more.
   */
  async watched(hold: Hold | undefined): Promise<void> {
    if (hold) await this.wait('the watch on its own znode', () => !hold.isValid || this.wire.isWatched([hold.path], 0));
  }

  /** Waits for a condition that raises no event. */
  wait(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
    const lookOn = (): boolean | Promise<boolean> => {
      if (this.#isOver) throw new Error(`The case was over before: ${what}`);
      return !this.wire.isFrozen && look();
    };
    return this.track(what, until(what, lookOn, ageMs));
  }

  /** The znodes of one folder of the lock in queue order, each with whether the client under test owns it. */
  async queue(folder = this.#folder): Promise<{ readonly path: string; readonly isSubjects: boolean }[]> {
    const root = `${this.path}${folder}`;
    const nodes = await this.fixture.observer.ephemerals(root);
    return nodes
      .sort((a, b) => (placeOf(a.name) < placeOf(b.name) ? -1 : 1))
      .map(({ name, owner }) => ({
        path: `${root}/${name}`,
        isSubjects: this.hasSubject && owner === this.subject.session.id,
      }));
  }

  /**
   * The fault lasts until `healing` settles. If `healing` rejects, the fault did not happen. The result never rejects.
   */
  heals(healing: Promise<void>): Promise<void> {
    const healed = healing.catch(
      (error: unknown) => void this.misses.push(error instanceof Error ? error.message : String(error)),
    );
    this.#healing.push(healed);
    return healed;
  }

  /**
   * Like `heals`, but until then no frame arrives anywhere and the script waits. Otherwise the script might go on, and
   * leave nothing for the fault to happen to.
   */
  freezes(healing: Promise<void>): Promise<void> {
    const healed = this.heals(healing);
    this.wire.freeze(healed);
    return healed;
  }

  async healed(): Promise<void> {
    await Promise.all(this.#healing);
  }

  /** Ends the session of the client under test on the server. The client learns of that when it reconnects. */
  async expire(): Promise<void> {
    // The client's clock does not cause this loss, so the client cannot know of it in advance.
    for (const folder of this.kind.folders) {
      for (const { path, isSubjects } of await this.queue(folder))
        if (isSubjects) this.owners.doneByOthers('session ended', path);
    }
    await this.wire.proxy.refuse();
    await this.fixture.observer.endSession(this.subject);
    await this.wire.proxy.accept();
  }

  /** Keeps the name of a promise until it has settled. */
  async track<T>(what: string, promise: Promise<T>): Promise<T> {
    const key = {};
    this.#pending.set(key, what);
    try {
      return await promise;
    } finally {
      this.#pending.delete(key);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#subject?.close({ timeoutMs: 0 });
    await this.wire.proxy.close();
    // A case that was broken off leaves holds of clients that other cases share.
    await Promise.all(this.owners.holds.map((hold) => hold.release()));
  }

  get #folder(): string {
    return this.kind.folders[0] ?? '';
  }

  #judge(what: string, error: unknown): void {
    // The end of a case that was broken off rejects its calls.
    if (this.#isOver || (error instanceof LockError && this.permitted.has(error.code))) return;
    const code = error instanceof LockError ? error.code : 'no LockError';
    this.warnings.push(`${what} rejected (${code}): ${error instanceof Error ? error.message : String(error)}`);
  }

  #nameOf(client: LockClient): string {
    return client === this.#subject ? 'the client' : 'a bystander';
  }
}

/** Returns the sort key of a name. A downgraded reader stands right behind its own writer, with the same number. */
function placeOf(name: string): string {
  return `${name.slice(-10)}${name.includes('__READ__') ? 'r' : ''}`;
}

function isCoded(error: unknown, code: LockErrorCode): boolean {
  return error instanceof LockError && error.code === code;
}
