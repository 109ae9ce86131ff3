import { lockContext, type Hold, type InterProcessSemaphore } from '../../src/index.ts';
import type { Random } from '../../lab/random.ts';
import { now, type CallKind } from '../../lab/judge/history.ts';
import { recordGrant, work, type Job } from './job.ts';
import type { CallOptions, Lock, Side } from './lock.ts';
import type { Recorder, RecordOwner } from './recorder.ts';
import type { RegisterClient } from './register-client.ts';

export interface OwnerTools {
  readonly locks: readonly Lock[];
  readonly recorder: Recorder;
  readonly register: RegisterClient;
  readonly random: Random;
  readonly sessionTimeoutMs: number;
  readonly keeping: Job['keeping'];
  readonly nextId: () => string;
  readonly nextNumber: () => number;
}

/** Takes locks of all kinds, one after another. */
export class Owner {
  readonly #tools: OwnerTools;

  constructor(tools: OwnerTools) {
    this.#tools = tools;
  }

  async once(): Promise<void> {
    const { random, locks } = this.#tools;
    const [first, ...others] = locks;
    if (first === undefined) return;
    const lock = random.pick([first, ...others]);
    const kind = random.pick(lock.kinds);
    switch (lock.is) {
      case 'mutex':
      case 'weighted':
      case 'election':
        return this.#take(lock.owner, kind);
      case 'read-write':
        if (kind === 'downgrade') return this.#nest(kind, lock.writer, lock.reader);
        return this.#take(random.chance(0.3) ? lock.writer : lock.reader, kind);
      case 'semaphore':
        return kind === 'many' ? this.#many(lock.lease, lock.semaphore) : this.#take(lock.lease, kind);
    }
  }

  async #take(side: Side, kind: CallKind): Promise<void> {
    const { lock } = side;
    switch (kind) {
      case 'timed': {
        const timeoutMs = Math.ceil(this.#tools.random.between(1, 1_500));
        return this.#hold(side, kind, { timeoutMs, ...this.#weight(side) }, (call) => lock.acquire(call));
      }
      case 'aborted':
        return this.#hold(side, kind, this.#weight(side), (call) => this.#aborted(side, call));
      case 'try':
        return this.#hold(side, kind, this.#weight(side), (call) => lock.tryAcquire(call));
      case 're-entrant':
        return this.#nest(kind, side, side);
      case 'handler':
        // Three handlers of one flow are three separate owners.
        await Promise.all(
          [1, 2, 3].map(() => this.#hold(side, kind, this.#weight(side), (call) => lock.acquire(call))),
        );
        return;
      default:
        return this.#hold(side, kind, this.#weight(side), (call) => lock.acquire(call));
    }
  }

  /** Drawn anew for each call. */
  #weight({ hasWeights }: Side): CallOptions {
    return hasWeights ? { weight: 1 + this.#tools.random.whole(10) } : {};
  }

  async #aborted({ lock }: Side, call: CallOptions): Promise<Hold> {
    const aborter = new AbortController();
    const timer = setTimeout(() => aborter.abort(new Error('the owner gave up')), this.#tools.random.between(0, 800));
    try {
      return await lock.acquire({ ...call, signal: aborter.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  async #hold(
    { path, role, leader }: Side,
    kind: CallKind,
    call: CallOptions,
    acquire: (call: CallOptions) => Promise<Hold | undefined>,
  ): Promise<void> {
    const id = this.#tools.nextId();
    const record = this.#tools.recorder.of(id);
    record({ type: 'call', path, kind, role, flow: id, ...call });
    const hold = await this.#settled(() => acquire(call), record);
    if (hold) await this.#use(id, { path, role, leader }, kind, hold, record);
  }

  /** One call acquires two leases. Each lease has its own job, and either job may be the longer one. */
  async #many({ path, role }: Side, semaphore: InterProcessSemaphore): Promise<void> {
    const { recorder, nextId } = this.#tools;
    const calls = [nextId(), nextId()].map((id) => ({ id, record: recorder.of(id) }));
    for (const { id, record } of calls) record({ type: 'call', path, kind: 'many', role, flow: id });
    const acquired = semaphore.acquireMany(calls.length);
    await Promise.all(
      calls.map(async ({ id, record }, index) => {
        const hold = await this.#settled(() => acquired.then((holds) => holds[index]), record);
        if (hold) await this.#use(id, { path, role }, 'many', hold, record);
      }),
    );
  }

  /**
   * The inner acquire outlives the outer one: the lock is held until both have ended. A writer that downgrades to
   * reading lets other readers in meanwhile.
   */
  async #nest(kind: CallKind, outer: Side, inner: Side): Promise<void> {
    const { recorder, nextId } = this.#tools;
    const [flow, id] = [nextId(), nextId()];
    const [recordOuter, recordInner] = [recorder.of(flow), recorder.of(id)];
    await lockContext.run(async () => {
      const [outerCall, innerCall] = [this.#weight(outer), this.#weight(inner)];
      recordOuter({ type: 'call', path: outer.path, kind, role: outer.role, flow, ...outerCall });
      const first = await this.#settled(() => outer.lock.acquire(outerCall), recordOuter);
      if (first === undefined) return;
      recordGrant(first, outer.path, recordOuter);
      recordInner({ type: 'call', path: inner.path, kind, role: inner.role, flow, ...innerCall });
      const second = await this.#settled(() => inner.lock.acquire(innerCall), recordInner);
      if (second) recordGrant(second, inner.path, recordInner);
      await this.#work(flow, outer, kind, first, recordOuter);
      await this.#release(first, recordOuter);
      if (second === undefined) return;
      await this.#work(id, inner, kind, second, recordInner);
      await this.#release(second, recordInner);
    });
  }

  async #settled(acquire: () => Promise<Hold | undefined>, record: RecordOwner): Promise<Hold | undefined> {
    try {
      const hold = await acquire();
      if (hold === undefined) record({ type: 'refused', outcome: 'none' });
      return hold;
    } catch (error) {
      const { code, message } = error as { code?: string; message: string };
      if (code === 'ERR_LOCK_TIMEOUT') record({ type: 'refused', outcome: 'none', error: code });
      else if (message === 'the owner gave up') record({ type: 'refused', outcome: 'aborted' });
      else record({ type: 'refused', outcome: 'error', error: `${code ?? ''} ${message}` });
      return undefined;
    }
  }

  async #use(id: string, place: Place, kind: CallKind, hold: Hold, record: RecordOwner): Promise<void> {
    recordGrant(hold, place.path, record);
    await this.#work(id, place, kind, hold, record);
    await this.#release(hold, record);
  }

  #work(id: string, { path, role, leader }: Place, kind: CallKind, hold: Hold, record: RecordOwner): Promise<void> {
    const { random, register, sessionTimeoutMs, keeping, nextNumber } = this.#tools;
    const isVeryLong = kind === 'long' && random.chance(0.1);
    const longestMs = isVeryLong ? 2 * sessionTimeoutMs : 1_200;
    const lengthMs = kind === 'long' ? random.between(100, longestMs) : random.between(0, 10);
    const writes = role === 'reader' || role === 'lease' ? 0 : 1 + random.whole(2);
    const delayMs = isVeryLong ? random.between(0, longestMs) : 0;
    const asks = random.chance(0.3) ? leader : undefined;
    const lateMs = kind === 'long' && random.chance(0.5) ? random.between(0, longestMs) : 0;
    const list = random.chance(writes > 0 ? 1 : 0.3) ? listWays[role] : undefined;
    const readsRegister = writes > 0 && random.chance(0.2);
    const waits = { lengthMs, delayMs, lateMs, keeping };
    const job: Job = { id, path, writes, ...waits, leader: asks, list, nextNumber, readsRegister };
    return work(job, hold, record, register);
  }

  async #release(hold: Hold, record: RecordOwner): Promise<void> {
    const t = now();
    record({ type: 'releasing', valid: hold.isValid }, t);
    record({ type: 'released', outcome: await hold.release() });
  }
}

const listWays = { owner: 'append', writer: 'append', reader: 'read', lease: 'compare' } as const;

type Place = Pick<Side, 'path' | 'role' | 'leader'>;
