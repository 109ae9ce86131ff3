import { InterProcessMutex, lockContext, type Hold, type LockClient } from '../../src/index.ts';
import type { Random } from '../../test/model/random.ts';
import { now, type CallKind } from '../history.ts';
import { recordGrant, work, type Job } from './job.ts';
import type { Recorder, RecordOwner } from './recorder.ts';
import type { RegisterClient } from './register-client.ts';

export interface OwnerTools {
  readonly client: LockClient;
  readonly mutexes: ReadonlyMap<string, InterProcessMutex>;
  readonly recorder: Recorder;
  readonly register: RegisterClient;
  readonly random: Random;
  readonly sessionTimeoutMs: number;
  readonly keeping: Job['keeping'];
  readonly nextId: () => string;
}

const kinds: readonly [CallKind, ...CallKind[]] = ['plain', 'plain', 'plain', 'long', 'timed', 'aborted', 'try', 're-entrant', 'handler'];

/** Takes locks of all kinds, one after another. */
export class Owner {
  readonly #tools: OwnerTools;

  constructor(tools: OwnerTools) {
    this.#tools = tools;
  }

  async once(): Promise<void> {
    const { random, mutexes } = this.#tools;
    const [first, ...others] = [...mutexes];
    if (first === undefined) return;
    const [path, mutex] = random.pick([first, ...others]);
    const kind = random.pick(kinds);
    switch (kind) {
      case 'plain':
      case 'long':
        return this.#hold(path, kind, {}, () => mutex.acquire());
      case 'timed': {
        const timeoutMs = Math.ceil(random.between(1, 1_500));
        return this.#hold(path, kind, { timeoutMs }, () => mutex.acquire({ timeoutMs }));
      }
      case 'aborted':
        return this.#hold(path, kind, {}, () => this.#aborted(mutex));
      case 'try':
        return this.#hold(path, kind, {}, () => mutex.tryAcquire());
      case 're-entrant':
        return this.#reenter(path, mutex);
      case 'handler':
        // Three handlers of one flow are three owners.
        await Promise.all([1, 2, 3].map(() => this.#hold(path, kind, {}, () => mutex.acquire())));
    }
  }

  async #aborted(mutex: InterProcessMutex): Promise<Hold> {
    const aborter = new AbortController();
    const timer = setTimeout(() => aborter.abort(new Error('changed its mind')), this.#tools.random.between(0, 800));
    try {
      return await mutex.acquire({ signal: aborter.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  async #hold(path: string, kind: CallKind, call: { timeoutMs?: number }, acquire: () => Promise<Hold | undefined>): Promise<void> {
    const id = this.#tools.nextId();
    const record = this.#tools.recorder.of(id);
    record({ type: 'call', path, kind, flow: id, ...call });
    const hold = await this.#settled(acquire, record);
    if (hold === undefined) return;
    recordGrant(hold, path, record);
    await this.#work(id, path, kind, hold, record);
    await this.#release(hold, record);
  }

  /** The inner acquire outlives the outer one: the lock is held until both are over. */
  async #reenter(path: string, mutex: InterProcessMutex): Promise<void> {
    const { recorder, nextId } = this.#tools;
    const [outer, inner] = [nextId(), nextId()];
    const [recordOuter, recordInner] = [recorder.of(outer), recorder.of(inner)];
    await lockContext.run(async () => {
      recordOuter({ type: 'call', path, kind: 're-entrant', flow: outer });
      const first = await this.#settled(() => mutex.acquire(), recordOuter);
      if (first === undefined) return;
      recordGrant(first, path, recordOuter);
      recordInner({ type: 'call', path, kind: 're-entrant', flow: outer });
      const second = await this.#settled(() => mutex.acquire(), recordInner);
      if (second) recordGrant(second, path, recordInner);
      await this.#work(outer, path, 're-entrant', first, recordOuter);
      await this.#release(first, recordOuter);
      if (second === undefined) return;
      await this.#work(inner, path, 're-entrant', second, recordInner);
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
      else if (message === 'changed its mind') record({ type: 'refused', outcome: 'aborted' });
      else record({ type: 'refused', outcome: 'error', error: `${code ?? ''} ${message}` });
      return undefined;
    }
  }

  #work(id: string, path: string, kind: CallKind, hold: Hold, record: RecordOwner): Promise<void> {
    const { random, register, sessionTimeoutMs, keeping } = this.#tools;
    const isVeryLong = kind === 'long' && random.chance(0.1);
    const longestMs = isVeryLong ? 2 * sessionTimeoutMs : 1_200;
    const lengthMs = kind === 'long' ? random.between(100, longestMs) : random.between(0, 10);
    const job: Job = { id, path, lengthMs, writes: 1 + random.whole(2), delayMs: isVeryLong ? random.between(0, longestMs) : 0, keeping };
    return work(job, hold, record, register);
  }

  async #release(hold: Hold, record: RecordOwner): Promise<void> {
    const t = now();
    record({ type: 'releasing', valid: hold.isValid }, t);
    record({ type: 'released', outcome: await hold.release() });
  }
}
