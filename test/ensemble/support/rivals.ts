import { expect } from 'chai';
import { InterProcessMutex, LeaderElection, type Hold, type LockClient } from '../../../src/index.ts';
import { errorText } from '../../../src/support/error-text.ts';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { connectToFirst } from '../../../lab/lock-clients.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';
import type { ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { recordMargin } from './margins.ts';
import { monotonicMs } from './monotonic.ts';
import { tickTimeMs } from '../../../lab/servers/trio.ts';
import { RunningTime } from '../../../lab/running-time.ts';

/** The timeout of sessions that are to expire. */
export const shortTimeoutMs = 4_000;

/**
 * The timeout of sessions that are to live. When a silent server is given up, 15 % of it are left for another one: more
 * than two seconds, even for a busy machine.
 */
export const longTimeoutMs = 15_000;

export interface RivalsOptions {
  /** The servers that the holder knows; it begins with the first. */
  readonly holderOn: readonly ZooKeeperServer[];
  readonly waiterOn: readonly ZooKeeperServer[];
  readonly sessionTimeoutMs: number;
  /** True if the clients get the servers' tick as an option. */
  readonly knowTick: boolean;
  /** Their common wish: a mutex, or to lead. @default 'mutex' */
  readonly wanted?: Wanted;
}

type Wanted = 'mutex' | 'latch' | 'selector';

/** Every second pair wants to lead, by one of the two protocols. */
export function wantedBy(index: number): Wanted {
  return (['mutex', 'latch', 'mutex', 'selector'] as const)[index % 4] ?? 'mutex';
}

interface Wish {
  acquire(options?: { timeoutMs?: number }): Promise<Hold>;
  participants(): Promise<readonly { readonly path: string }[]>;
}

function wish(client: LockClient, path: string, wanted: Wanted): Wish {
  if (wanted === 'mutex') return new InterProcessMutex(client, path);
  const election = new LeaderElection(client, path, { protocol: wanted });
  return { acquire: (options) => election.campaign(options), participants: () => election.participants() };
}

/** A holder and a waiter of one lock, each with its own client in this process. */
export class Rivals {
  readonly holder: LockClient;
  readonly hold: Hold;
  readonly #waiter: LockClient;
  /** The lock as the waiter sees it. */
  readonly #mutex: Wish;
  readonly #wanted: Wanted;
  readonly #granted: Promise<Hold>;
  #grantedAt: number | undefined;
  #toldAt: number | undefined;
  readonly #running = new RunningTime();
  /** The hold when this process learned of the grant, if a busy machine had held the process up until then. */
  #foundAfterHoldUp: { readonly isValid: boolean } | undefined;
  #isOver = false;

  static async meet({
    holderOn,
    waiterOn,
    sessionTimeoutMs,
    knowTick,
    wanted = 'mutex',
  }: RivalsOptions): Promise<Rivals> {
    const options = { sessionTimeoutMs, ...(knowTick && { tickTimeMs }) };
    const [holder, waiter] = await Promise.all([connectToFirst(holderOn, options), connectToFirst(waiterOn, options)]);
    expect(holder.sessionTimeoutMs).to.equal(sessionTimeoutMs);
    const path = testPath('rivals');
    const hold = await wish(holder, path, wanted).acquire({ timeoutMs: 10_000 });
    const rivals = new Rivals(holder, hold, waiter, { path, wanted });
    await until('the waiter is in the queue', async () => (await rivals.#mutex.participants()).length === 2);
    return rivals;
  }

  private constructor(
    holder: LockClient,
    hold: Hold,
    waiter: LockClient,
    { path, wanted }: { readonly path: string; readonly wanted: Wanted },
  ) {
    this.holder = holder;
    this.hold = hold;
    hold.signal.addEventListener('abort', () => (this.#toldAt = monotonicMs()));
    this.#waiter = waiter;
    this.#mutex = wish(waiter, path, wanted);
    this.#wanted = wanted;
    this.#granted = this.#mutex.acquire().then((next) => {
      this.#grantedAt = monotonicMs();
      if (this.#toldAt === undefined && this.#running.isHeldUp) this.#foundAfterHoldUp = { isValid: hold.isValid };
      return next;
    });
    this.#granted.catch(() => undefined); // where the test ends first
  }

  /**
   * Makes the holder read all the time from now on: a server that is cut off answers until the next heartbeat, and
   * those answers prove nothing.
   */
  keepReading(): void {
    const read = async (): Promise<void> => {
      while (!this.#isOver && this.#toldAt === undefined) {
        await this.holder.session.request(exists('/')).catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    };
    void read();
  }

  /**
   * Waits for the waiter's grant, and fails unless the holder was told before it. Code that did not run before the
   * grant cannot be told: it finds its lock lost at its first look.
   */
  async loses(fault: string): Promise<void> {
    await this.#granted;
    if (this.#foundAfterHoldUp) {
      expect(this.#foundAfterHoldUp.isValid, 'isValid at the first look').to.equal(false);
      return;
    }
    // A holder that was not told at all fails too: how late it would be told does not matter.
    const marginMs = (this.#grantedAt ?? 0) - (this.#toldAt ?? Infinity);
    recordMargin(this.#wanted === 'mutex' ? fault : `${fault}: an old leader`, marginMs);
    expect(marginMs, 'milliseconds from the abort to the next grant').to.be.above(0);
    expect(this.hold.isValid, 'isValid').to.equal(false);
  }

  /** Waits until the leader is known to have heard from the session after `time`; fails if the lock was lost. */
  async outlives(time: number): Promise<void> {
    const { session } = this.holder;
    await until(
      'the session has outlived it',
      () => session.isEnded || session.deadline > time + session.timeoutMs,
      30_000,
    );
    await this.stillHolds();
    expect(this.holder.session, 'the session').to.equal(session);
  }

  async stillHolds(): Promise<void> {
    const { server, lastError } = this.holder.session.connection;
    expect(this.hold.isValid, `isValid, after ${server}: ${errorText(lastError)}`).to.equal(true);
    expect(this.#grantedAt, 'when the waiter was granted').to.equal(undefined);
    expect((await this.#mutex.participants())[0]?.path).to.equal(this.hold.path);
  }

  /** The holder releases, and the waiter is granted the lock. */
  async handsOver(): Promise<void> {
    expect(await this.hold.release()).to.equal('released');
    await (await this.#granted).release();
  }

  async part(): Promise<void> {
    this.#isOver = true;
    this.#running[Symbol.dispose]();
    await Promise.all([this.holder, this.#waiter].map((client) => client.close({ timeoutMs: 200 })));
  }
}

/** Pairs of rivals with different locks, to whom one fault happens. */
export class Contest implements AsyncDisposable {
  readonly all: readonly Rivals[];

  /** Starts the pairs one after another, so that the fault meets each pair at another phase between two heartbeats. */
  static async begin(options: readonly RivalsOptions[]): Promise<Contest> {
    const meet = async (option: RivalsOptions, index: number): Promise<Rivals> => {
      await new Promise((resolve) => setTimeout(resolve, ((index / options.length) * option.sessionTimeoutMs) / 6));
      return Rivals.meet(option);
    };
    return new Contest(await Promise.all(options.map(meet)));
  }

  private constructor(all: readonly Rivals[]) {
    this.all = all;
  }

  /** Waits for all pairs, even if the first one fails. */
  async each(what: (rivals: Rivals) => Promise<unknown>): Promise<void> {
    const outcomes = await Promise.allSettled(this.all.map(what));
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.each((rivals) => rivals.part());
  }
}
