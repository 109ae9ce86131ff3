import { LockError, type GuardedTransaction, type LeaderElection } from '../src/index.ts';
import type { Grant } from '../src/internals/grant.ts';
import type { Claim } from './claim.ts';
import type { Judge } from './judge.ts';
import type { Owner } from './owner.ts';
import type { WritePlan } from './plan.ts';
import { operationsOf } from './rules/guarded-writes.ts';
import type { Settling } from './settling.ts';

/** The jobs that run under a lock: they take their time, write by transactions, and may be asked to release. */
export class Work {
  readonly #judge: Judge;
  readonly #settling: Settling;
  /** Ends the jobs of revocable locks. */
  readonly #asked = new Map<Grant, Set<() => void>>();

  constructor(judge: Judge, settling: Settling) {
    this.#judge = judge;
    this.#settling = settling;
  }

  /** The library asks the holder to release. */
  revoked(grant: Grant): void {
    this.#judge.revocations.answered(grant);
    for (const end of this.#asked.get(grant) ?? []) end();
  }

  /**
   * The job of a call. Resolves when its time is over, when it is asked to release, or when it heeds the loss.
   *
   * @param claims the hold, or the holds of a multi-lock
   * @param stop the signal that tells of the loss
   */
  async run(owner: Owner, claims: readonly Claim[], hold: Guard, stop: AbortSignal): Promise<void> {
    const { writes = [], asksLeader = false } = owner.call;
    const awaited = writes
      .map((plan) => [plan, this.#write(owner, claims, hold, plan)] as const)
      .flatMap(([{ floats }, done]) => (floats ? [] : [done]));
    const [claim] = claims;
    if (asksLeader && claim) awaited.push(this.#askWhoLeads(owner, claim));
    await this.#untilOver(owner, claims, stop);
    await Promise.all(awaited);
  }

  #untilOver({ client, call }: Owner, claims: readonly Claim[], stop: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const over = (): void => {
        for (const { hold } of claims) this.#asked.get(hold.grant)?.delete(over);
        resolve();
      };
      for (const { hold } of claims) this.#endersOf(hold.grant).add(over);
      client.clock.after(call.holdMs, over);
      if (call.heedsLoss === true) stop.addEventListener('abort', over, { once: true });
      if ((call.heedsLoss === true && stop.aborted) || claims.some((claim) => this.#isAsked(claim))) over();
    });
  }

  #endersOf(grant: Grant): Set<() => void> {
    const known = this.#asked.get(grant) ?? new Set();
    this.#asked.set(grant, known);
    return known;
  }

  #isAsked(claim: Claim): boolean {
    return this.#judge.revocations.wasAnswered(claim);
  }

  async #write(owner: Owner, claims: readonly Claim[], hold: Guard, { afterMs, fails }: WritePlan): Promise<void> {
    const { client } = owner;
    const write = this.#judge.writes.begin(claims, fails);
    const transaction = operationsOf(write, hold.transaction());
    client.open += 1;
    try {
      await new Promise<void>((resolve) => client.clock.after(afterMs, resolve));
      const [path] = await this.#settling.inTime(owner, 'commit', transaction.commit(), undefined);
      this.#judge.writes.succeeded(write, path);
    } catch (error) {
      if (!this.#judge.writes.failed(write, error))
        this.#judge.tell('I4', `commit failed: ${String((error as Error).stack)}`);
    } finally {
      client.open -= 1;
      client.noteUse();
    }
  }

  async #askWhoLeads(owner: Owner, claim: Claim): Promise<void> {
    const { client } = owner;
    const made = client.lock(owner.lock, owner.library);
    if (made.is !== 'election') return;
    client.open += 1;
    try {
      const shown = await this.#settling.inTime(owner, 'leader', leaderOf(made.election), undefined);
      const { isValid: valid } = claim.hold;
      if (!claim.isTaken)
        this.#judge.recorder.owner(client.name, owner.id, { type: 'leader', shown: shown ?? '', valid });
    } catch (error) {
      // No server answered in time, or the client closes.
      if (!(error instanceof LockError)) throw error;
    } finally {
      client.open -= 1;
      client.noteUse();
    }
  }
}

/** A hold, or the hold of a multi-lock. */
interface Guard {
  transaction(): GuardedTransaction;
}

async function leaderOf(election: LeaderElection): Promise<string | undefined> {
  return (await election.leader())?.path;
}
