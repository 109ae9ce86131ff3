import {
  LockClient,
  LockError,
  retryForever,
  type AcquireOptions,
  type ConnectStringSource,
  type Hold,
  type LockClientOptions,
  type LockErrorCode,
} from '../../src/index.ts';
import { Random } from '../../lab/random.ts';
import { surroundingsOf } from '../../lab/virtual/surroundings.ts';
import { VirtualProcess } from '../../lab/virtual/virtual-process.ts';
import { phases } from '../../lab/virtual/agenda.ts';
import type { VirtualMachine } from '../../lab/virtual/bridge.ts';
import { virtualMachine } from '../../lab/world.ts';
import { Eavesdropper } from './eavesdropper.ts';
import type { Neighbour } from './fault.ts';
import { mutex, type Lock, type LockKind } from './lock-kinds.ts';
import { Owners } from './owners.ts';
import type { Scenario } from './scenario.ts';
import { startServers, type Servers } from './servers.ts';
import { Wire } from './wire.ts';

if (!virtualMachine) throw new Error('The faults strike on virtual time only: TEST_WORLD must not be real');
/** The cases have it for themselves: nothing real happens meanwhile. */
export const machine: VirtualMachine = virtualMachine;
const { time } = machine;

/** The session timeout of the client under test. */
export const sessionTimeoutMs = 2_000;
/** Far longer than any case may take: a wait of this length is ended by the time limit of the case. */
export const ageMs = 60_000;

/** One run of a case: its servers, the client under test behind proxies, and other clients on good connections. */
export class CaseRun implements AsyncDisposable {
  readonly servers: Servers;
  readonly wire: Wire;
  readonly kind: LockKind;
  readonly path: string;
  readonly warnings: string[] = [];
  readonly owners: Owners;
  /** The error codes with which an acquire may reject in this case. */
  readonly permitted = new Set<LockErrorCode>();
  /** The process of the client under test. */
  readonly process = new VirtualProcess('client', time.agenda);
  /** The script goes on after this time if the client under test does not wait in the queue as it should. */
  longestWaitMs = Infinity;
  /** The options of the calls of the client under test. The caller may change them after the call. */
  readonly options: AcquireOptions[] = [];
  readonly #otherProcess = new VirtualProcess('others', time.agenda);
  readonly #random = new Random(1, 1);
  readonly #eavesdropper: Eavesdropper;
  readonly #pending = new Map<object, string>();
  readonly #waits = new Set<() => void>();
  readonly #healing: Promise<void>[] = [];
  readonly #crashed: Promise<undefined>;
  #crash = (_nothing: undefined): void => undefined;
  #isOver = false;
  #subject: LockClient | undefined;
  #others: readonly LockClient[] = [];

  static async open(scenario: Scenario): Promise<CaseRun> {
    const servers = await startServers(machine, scenario.members ?? 1);
    const run = new CaseRun(servers, await Wire.open(servers.ports), scenario);
    run.#others = await Promise.all(Array.from({ length: scenario.others ?? 1 }, () => run.another()));
    return run;
  }

  private constructor(servers: Servers, wire: Wire, { kind = mutex, depth = 'lock' }: Scenario) {
    this.servers = servers;
    this.wire = wire;
    this.kind = kind;
    this.path = `/test/${depth}`;
    const warn = (warning: string): void => void this.warnings.push(warning);
    this.#eavesdropper = new Eavesdropper(warn);
    this.owners = new Owners(kind, {
      warn,
      follow: (hold) => this.#eavesdropper.follow(hold),
      isStalled: (who) => who === subjectName && this.isStalled,
    });
    time.waitsForReal = false;
    this.#crashed = new Promise((resolve) => (this.#crash = resolve));
    time.afterEach = () => {
      const before = this.#waits.size;
      for (const look of this.#waits) look();
      return this.#waits.size < before;
    };
  }

  /** The client under test. */
  get subject(): LockClient {
    if (!this.#subject) throw new Error('The client under test has not connected yet');
    return this.#subject;
  }

  get hasSubject(): boolean {
    return this.#subject !== undefined;
  }

  /** Another client, which holds, waits and takes over. */
  get bystander(): LockClient {
    return this.#others[0] as LockClient;
  }

  /** More clients that wait. */
  get neighbours(): readonly LockClient[] {
    return this.#others.slice(1);
  }

  get isStalled(): boolean {
    return this.process.stalledUntil > time.agenda.now;
  }

  get isCrashed(): boolean {
    return this.process.isDead;
  }

  /** The calls that have not settled, for the report of a hang. */
  get pending(): string[] {
    return [...this.#pending.values()];
  }

  /** Connects the client under test; rejects as `LockClient.connect` does. */
  async connect(options: Connecting = {}): Promise<void> {
    const { connectionTimeoutMs = ageMs, knowsTick = true, servers = this.wire.connectString } = options;
    const connecting = this.#connect(this.process, servers, {
      sessionTimeoutMs,
      connectionTimeoutMs,
      ...(knowsTick && { tickTimeMs: this.servers.tickTimeMs }),
    });
    this.#subject = await this.track('connect', this.unlessCrashed(connecting));
    if (this.#subject) this.#eavesdropper.listenTo(this.#subject);
  }

  /** Connects one more client without a proxy. */
  another(): Promise<LockClient> {
    const hosts = this.servers.ports.map((port) => `127.0.0.1:${port}`).join(',');
    return this.#connect(this.#otherProcess, hosts, { sessionTimeoutMs: 20_000 });
  }

  #connect(whose: VirtualProcess, hosts: ConnectStringSource, options: LockClientOptions): Promise<LockClient> {
    const surroundings = surroundingsOf(whose, machine, this.#random);
    return LockClient.connectIn(surroundings, hosts, { retryPolicy: retryForever(20), ...options });
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
    const [hold] = await this.acquireAll(client, options, async (given) => [await lock.acquire(given)]);
    return hold;
  }

  /** Like `acquire`, for several holds that come all at once. */
  async acquireAll(
    client: LockClient,
    { timeoutMs, signal, ...others }: AcquireOptions,
    acquire: (given: AcquireOptions) => Promise<readonly Hold[]>,
  ): Promise<readonly Hold[]> {
    const who = this.#nameOf(client);
    const given: AcquireOptions = {
      ...others,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...(signal && { signal }),
    };
    if (client === this.#subject) this.options.push(given);
    const deadline = time.now() + (timeoutMs ?? Infinity);
    const acquiring = acquire(given);
    try {
      const holds = await this.track(
        `an acquire of ${who}`,
        client === this.#subject ? this.unlessCrashed(acquiring) : acquiring,
      );
      if (!holds || this.#isOver) return [];
      for (const hold of holds) this.owners.granted(who, hold);
      return holds;
    } catch (error) {
      const isTimeout = timeoutMs !== undefined && isCoded(error, 'ERR_LOCK_TIMEOUT');
      const isAbort = signal?.aborted === true && error === signal.reason;
      if (!isTimeout && !isAbort) this.judge(`an acquire of ${who}`, error);
      return [];
    } finally {
      const lateMs = time.now() - Math.max(deadline, this.process.stalledUntil);
      if (lateMs > timerMs)
        this.warnings.push(`an acquire of ${who} with a timeout of ${timeoutMs} ms settled ${lateMs} ms after it`);
    }
  }

  async tryAcquire(client: LockClient): Promise<Hold | undefined> {
    const [hold] = await this.acquireAll(client, {}, async () => {
      const got = await this.kind.open(client, this.path).tryAcquire();
      return got ? [got] : [];
    });
    return hold;
  }

  async release(hold: Hold | undefined): Promise<void> {
    if (!hold) return;
    await this.wait('the end of a stall', () => true);
    this.owners.released(hold);
    await this.track('a release', this.unlessCrashed(hold.release()));
  }

  /** Closes the client under test. Its waiters may then reject with ERR_LOCK_CLIENT_CLOSED. */
  async close(): Promise<void> {
    this.permitted.add('ERR_LOCK_CLIENT_CLOSED');
    await this.track('close', this.unlessCrashed(this.subject.close()));
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
    const givesUpAt = time.now() + this.longestWaitMs;
    await this.waitWhile(acquiring, `a watch on ${paths.join(' or ') || 'its own znode'}`, () => {
      if (time.now() > givesUpAt) return true;
      if (!this.wire.isWatched(paths, past)) return false;
      return this.queue(folder).filter(({ isSubjects }) => isSubjects).length >= places;
    });
  }

  /**
   * Waits until the client under test has the watch on its own znode, or the hold is over. Then no request is in flight
   * any more. A server that ends each connection on which it gets the read has no such watch: heartbeats check the znode.
   */
  async watched(hold: Hold | undefined): Promise<void> {
    const isRefused = (): boolean => this.permitted.has('ERR_LOCK_REQUEST_FAILED');
    const isWatched = (path: string): boolean => isRefused() || this.wire.isWatched([path], 0);
    if (hold) await this.wait('the watch on its own znode', () => !hold.isValid || isWatched(hold.path));
  }

  /** Waits for a condition, or until a promise has settled. */
  waitWhile(promise: Promise<unknown>, what: string, look: () => boolean): Promise<void> {
    let isSettled = false;
    const settled = (): void => void (isSettled = true);
    promise.then(settled, settled);
    return this.wait(what, () => isSettled || look());
  }

  /**
   * Waits for a condition, which is looked at after each event. While the client under test is stalled the script
   * stands still, and nothing of the script makes sense any more when the client has crashed.
   */
  wait(what: string, look: () => boolean): Promise<void> {
    const waiting = new Promise<void>((resolve, reject) => {
      const lookNow = (): void => {
        try {
          if (!this.isCrashed && (this.isStalled || !look())) return;
          resolve();
        } catch (error) {
          reject(error);
        }
        this.#waits.delete(lookNow);
      };
      this.#waits.add(lookNow);
      lookNow();
    });
    return this.track(what, waiting);
  }

  /** The znodes of one folder of the lock in queue order, each with whether the client under test owns it. */
  queue(folder = this.#folder): { readonly path: string; readonly isSubjects: boolean }[] {
    const root = `${this.path}${folder}`;
    return this.servers
      .children(root)
      .filter(({ owner }) => owner !== 0n)
      .sort((a, b) => (placeOf(a.name) < placeOf(b.name) ? -1 : 1))
      .map(({ name, owner }) => ({ path: `${root}/${name}`, isSubjects: this.wire.sessions.has(owner) }));
  }

  /** The last znode of the client under test in one folder of the lock, or its neighbour. */
  znode(folder: string | undefined, which: Neighbour): string | undefined {
    const queue = this.queue(folder);
    const own = queue.findLastIndex(({ isSubjects }) => isSubjects);
    return own < 0 ? undefined : queue[own + { own: 0, predecessor: -1, follower: 1 }[which]]?.path;
  }

  /** The fault lasts until `healing` settles. */
  heals(healing: Promise<void>): Promise<void> {
    this.#healing.push(healing);
    return healing;
  }

  async healed(): Promise<void> {
    await Promise.all(this.#healing);
  }

  /** Ends the session of the client under test on the server. The client learns of that when it reconnects. */
  expire(): void {
    // The client's clock does not cause this loss, so the client cannot know of it in advance.
    for (const folder of this.kind.folders)
      for (const { path, isSubjects } of this.queue(folder))
        if (isSubjects) this.owners.doneByOthers('session ended', path);
    for (const id of this.wire.sessions.keys()) this.servers.endSession(id);
  }

  /** The machine of the client under test loses its power: the client never does anything again, and nobody hears of it. */
  crash(): void {
    this.process.isDead = true;
    this.owners.forget(subjectName);
    this.#crash(undefined);
  }

  unlessCrashed<T>(promise: Promise<T>): Promise<T | undefined> {
    return Promise.race([promise, this.#crashed]);
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

  judge(what: string, error: unknown): void {
    // The end of a case that was broken off rejects its calls.
    if (this.#isOver || (error instanceof LockError && this.permitted.has(error.code))) return;
    const code = error instanceof LockError ? error.code : 'no LockError';
    this.warnings.push(`${what} rejected (${code}): ${error instanceof Error ? error.message : String(error)}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#waits.clear();
    for (const process of [this.process, this.#otherProcess]) process.isDead = true;
    await Promise.all([this.wire.close(), this.servers.stop()]);
  }

  get #folder(): string {
    return this.kind.folders[0] ?? '';
  }

  #nameOf(client: LockClient): string {
    return client === this.#subject ? subjectName : 'a bystander';
  }
}

/**
 * When a frame that passes now has arrived, and before any request that is sent because of it has: a message takes a
 * tenth of a millisecond.
 */
export function later(run: () => void): void {
  time.add(0.15, phases.socket, run);
}

const subjectName = 'the client';
/** A deadline ends a call in one turn, after what arrives in the same turn. */
const timerMs = 1;

/** Returns the sort key of a name. A downgraded reader stands right behind its own writer, with the same number. */
function placeOf(name: string): string {
  return `${name.slice(-10)}${name.includes('__READ__') ? 'r' : ''}`;
}

function isCoded(error: unknown, code: LockErrorCode): boolean {
  return error instanceof LockError && error.code === code;
}

/** The options of the connect of the client under test. */
interface Connecting {
  readonly connectionTimeoutMs?: number;
  readonly knowsTick?: boolean;
  /** @default the proxies of all servers */
  readonly servers?: ConnectStringSource;
}
