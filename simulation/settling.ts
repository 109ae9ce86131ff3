import type { Judge } from './judge.ts';
import { kindOf, type Owner } from './owner.ts';
import type { SimClient } from './sim-client.ts';

/** The promises that applications wait for: each settles, and in time (I4). */
export class Settling {
  /** The calls that have not settled, by the promise that is due. */
  readonly pending = new Map<object, Pending>();
  readonly #judge: Judge;

  constructor(judge: Judge) {
    this.#judge = judge;
  }

  /** An acquire was called. */
  called(owner: Owner): void {
    const { client, id, flow, lock, role, call } = owner;
    this.#judge.called(owner);
    this.#judge.recorder.owner(client.name, id, {
      type: 'call',
      path: lock.path,
      kind: kindOf(call),
      flow,
      role,
      // A multi-lock passes no weight on.
      ...(lock.is === 'weighted' && { weight: call.how === 'multi' ? 1 : (call.weight ?? 1) }),
      ...(call.timeoutMs !== undefined && { timeoutMs: call.timeoutMs }),
    });
  }

  /** An acquire settles. Resolves with undefined where the library refuses. */
  async granted<T>(
    owner: Owner,
    promise: Promise<T>,
    limitMs: number | undefined,
    wasGranted = (): boolean => false,
  ): Promise<T | undefined> {
    const { client, id, lock } = owner;
    const { recorder, refusals } = this.#judge;
    const refused = refusals.begin(owner);
    try {
      const granted = await this.inTime(owner, `acquire of ${lock.path}`, promise, limitMs);
      if (granted === undefined) {
        if (owner.call.timeoutMs !== undefined && owner.call.timeoutMs > 0) refused({ code: timeout });
        recorder.owner(client.name, id, { type: 'refused', outcome: 'none' });
      }
      return granted;
    } catch (error) {
      const { code } = error as { code?: unknown };
      const isTimeout = code === timeout;
      if (!wasGranted()) refused(error);
      const outcome = error === gaveUp ? 'aborted' : isTimeout ? 'none' : 'error';
      if (!wasGranted()) recorder.owner(client.name, id, { type: 'refused', outcome, error: String(error) });
      this.failed(owner, 'acquire', error);
      return undefined;
    }
  }

  /** Tells an error that no call may reject with. */
  failed({ id }: Pick<Owner, 'id'>, what: string, error: unknown): void {
    if (error !== gaveUp && !expectedCodes.has(String((error as { code?: unknown }).code)))
      this.#judge.tell('I4', `${id} ${what} failed: ${String((error as Error).stack)}`);
  }

  /** Checks that the promise settles within the limit, by the clock of its process. */
  async inTime<T>(
    { client, id }: Pick<Pending, 'client' | 'id'>,
    what: string,
    promise: Promise<T>,
    limitMs: number | undefined,
  ): Promise<T> {
    const key = {};
    this.pending.set(key, { client, id, what });
    const { process } = client;
    const from = process.now;
    try {
      return await promise;
    } finally {
      this.pending.delete(key);
      const lateMs = limitMs === undefined || limitMs === 0 ? 0 : process.now - from - limitMs;
      if (lateMs > toleranceMs && this.#judge.now() - process.stalledUntil > toleranceMs)
        this.#judge.tell('I4', `${id} ${what} settled ${lateMs} ms after its limit of ${limitMs} ms`);
    }
  }
}

export interface Pending {
  readonly client: SimClient;
  readonly id: string;
  readonly what: string;
}

const timeout = 'ERR_LOCK_TIMEOUT';

/** The reason of every AbortSignal of an application. */
export const gaveUp = new Error('the owner gave up');

/** A timer may be late by this. */
const toleranceMs = 2;

const expectedCodes = new Set([timeout, 'ERR_LOCK_CLIENT_CLOSED', 'ERR_LOCK_LOST', 'ERR_LOCK_REQUEST_FAILED']);
