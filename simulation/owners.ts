import { InterProcessMultiLock, InterProcessMutex, lockContext, type Hold, type ReleaseOutcome } from '../src/index.ts';
import type { Claim } from './claim.ts';
import type { Judge } from './judge.ts';
import { mutexOf, optionsOf, ownerOf, roleInMultiLock, usableOf, type Owner, type Task } from './owner.ts';
import type { Burst, Call, LockPlan } from './plan.ts';
import { gaveUp, Settling } from './settling.ts';
import type { SimClient } from './sim-client.ts';
import { Work } from './work.ts';

/** The applications: each call of a plan, from its acquire to its release. */
export class Owners {
  readonly settling: Settling;
  readonly work: Work;
  readonly #judge: Judge;
  readonly #locks: readonly LockPlan[];
  #flows = 0;

  constructor(judge: Judge, locks: readonly LockPlan[]) {
    this.#judge = judge;
    this.settling = new Settling(judge);
    this.work = new Work(judge, this.settling);
    this.#locks = locks;
  }

  begin(call: Call, client: SimClient): void {
    const lock = this.#locks[call.lock];
    if (lock === undefined || client.client === undefined) return;
    const task = { client, lock, call, library: client.client };
    const runs = call.how === 'handler' ? 3 : 1;
    for (let count = 0; count < runs; count += 1) {
      client.open += 1;
      void this.#run(task, `${client.name}#${(this.#flows += 1)}`)
        .catch((error: unknown) =>
          this.#judge.tell('I9', `${client.name} ${call.how}: ${String((error as Error).stack)}`),
        )
        .finally(() => {
          client.open -= 1;
          client.noteUse();
        });
    }
  }

  /** The locks of a burst are not judged: each call must settle, and leave nothing behind. */
  burst({ locks, bytesPerSecond = Infinity }: Burst, client: SimClient): void {
    const { client: library, name } = client;
    if (library === undefined) return;
    client.narrow(bytesPerSecond);
    let left = locks;
    for (let count = 0; count < locks; count += 1) {
      const mutex = new InterProcessMutex(library, `${burstPath}/${name}-${count}`);
      client.open += 1;
      void this.settling
        .inTime({ client, id: name }, 'acquire of a burst', mutex.withLock(ignore), undefined)
        .catch((error: unknown) => this.settling.failed({ id: name }, 'acquire of a burst', error))
        .finally(() => {
          left -= 1;
          if (left === 0) client.narrow(Infinity);
          client.open -= 1;
          client.noteUse();
        });
    }
  }

  async #run(task: Task, flow: string): Promise<void> {
    const owner = ownerOf(task, flow);
    switch (task.call.how) {
      case 'try':
      case 'plain':
      case 'handler':
        return this.#take(owner);
      case 'job':
        return this.#job(owner);
      case 'lead':
        return this.#lead(owner);
      case 'outliving':
      case 'bound':
        return this.#startAnother(owner, ownerOf(task, `${flow}o`));
      case 're-entrant':
        return this.#nest(owner, ownerOf(task, `${flow}i`, { flow }));
      case 'downgrade':
        return this.#nest(ownerOf(task, flow, { role: 'writer' }), ownerOf(task, `${flow}i`, { flow, role: 'reader' }));
      case 'many':
        return this.#many(task, flow);
      case 'multi':
        return this.#multi(task, flow);
    }
  }

  async #take(owner: Owner): Promise<void> {
    const hold = await this.#acquire(owner);
    if (hold !== undefined) await this.#use(owner, hold);
  }

  async #acquire(owner: Owner): Promise<Hold | undefined> {
    const { client } = owner;
    this.settling.called(owner);
    client.waits += 1;
    try {
      return await this.#granted(owner);
    } finally {
      client.waits -= 1;
      client.noteUse();
    }
  }

  async #granted(owner: Owner): Promise<Hold | undefined> {
    const lock = usableOf(owner);
    const options = optionsOf(owner);
    const { timeoutMs, abortAfterMs, how } = owner.call;
    if (how === 'try') return this.settling.granted(owner, lock.tryAcquire(options), timeoutMs);
    if (abortAfterMs === undefined) return this.settling.granted(owner, lock.acquire(options), timeoutMs);
    const aborter = new AbortController();
    const stop = owner.client.clock.after(abortAfterMs, () => aborter.abort(gaveUp));
    try {
      return await this.settling.granted(owner, lock.acquire({ ...options, signal: aborter.signal }), abortAfterMs);
    } finally {
      stop();
    }
  }

  async #use(owner: Owner, hold: Hold): Promise<void> {
    const claim = this.#judge.granted(owner, hold);
    await this.work.run(owner, [claim], hold, hold.signal);
    await this.#release(owner, [claim], hold);
  }

  /** Within `withLock`. The claim ends when the job ends. */
  async #job(owner: Owner, begun = (): void => undefined): Promise<void> {
    this.settling.called(owner);
    let claim: Claim | undefined;
    const done = usableOf(owner).withLock(async (hold) => {
      claim = this.#judge.granted(owner, hold);
      begun();
      await this.work.run(owner, [claim], hold, hold.signal);
      this.#judge.released(claim);
      return true;
    }, optionsOf(owner));
    const isDone = await this.settling.granted(owner, done, undefined, () => claim !== undefined);
    if (claim) this.#ended(owner, isDone === true ? 'released' : 'lost');
  }

  /** One term after another, until the candidate gives up. Each term is an owner of its own. */
  async #lead(owner: Owner): Promise<void> {
    const made = owner.client.lock(owner.lock, owner.library);
    if (made.is !== 'election') return;
    const aborter = new AbortController();
    const { clock } = owner.client;
    clock.after(3 * owner.call.holdMs + 50, () => aborter.abort(gaveUp));
    const lead = {};
    let terms = 0;
    const failure = new Error('the job has failed');
    const job = async (term: Hold, stop: AbortSignal): Promise<void> => {
      const one = ownerOf(owner, `${owner.id}.${(terms += 1)}`);
      this.settling.called(one);
      const claim = this.#judge.granted(one, term);
      const end = this.#judge.terms.begin({ lead, claim, stop, caller: aborter.signal });
      await this.work.run(one, [claim], term, stop);
      const fails = owner.call.throws === true;
      end(fails);
      this.#judge.released(claim);
      this.#ended(one, claim.isTold ? 'lost' : 'released');
      if (fails) throw failure;
    };
    const options = { ...optionsOf(owner), requeue: true, signal: aborter.signal };
    this.settling.called(owner);
    const led = made.election.lead(job, options).catch((error: unknown) => {
      // The failure of the job ends the call, as the caller's signal does.
      throw error === failure ? gaveUp : error;
    });
    await this.settling.granted(owner, led, undefined);
  }

  /** The job starts code that acquires the same lock: after its end, or as a new owner. */
  async #startAnother(owner: Owner, other: Owner): Promise<void> {
    let end = (): void => undefined;
    const over = new Promise<void>((resolve) => (end = resolve));
    let another: Promise<void> | undefined;
    await this.#job(owner, () => {
      another =
        owner.call.how === 'bound' ? lockContext.bind(() => this.#take(other))() : over.then(() => this.#take(other));
    });
    end();
    await another;
  }

  /** The inner acquire outlives the outer one. */
  async #nest(outer: Owner, inner: Owner): Promise<void> {
    await lockContext.run(async () => {
      const first = await this.#acquire(outer);
      if (first === undefined) return;
      const outerClaim = this.#judge.granted(outer, first);
      const second = await this.#acquire(inner);
      const innerClaim = second && this.#judge.granted(inner, second);
      if (innerClaim && inner.role === outer.role && !outerClaim.isTold)
        this.#judge.reEntry.nested(outerClaim, innerClaim);
      await this.work.run(outer, [outerClaim], first, first.signal);
      await this.#release(outer, [outerClaim], first);
      if (second === undefined || innerClaim === undefined) return;
      await this.work.run(inner, [innerClaim], second, second.signal);
      await this.#release(inner, [innerClaim], second);
    });
  }

  /** One call for two leases, each with its own end. */
  async #many(task: Task, flow: string): Promise<void> {
    const lock = task.client.lock(task.lock, task.library);
    if (lock.is !== 'semaphore') return;
    const owners = [0, 1].map((index) => ownerOf(task, `${flow}.${index}`));
    for (const owner of owners) this.settling.called(owner);
    const [first = ownerOf(task, flow)] = owners;
    const { leaseMs: _leaseMs, renewEveryMs: _renewEveryMs, ...options } = optionsOf(first);
    const holds = await this.settling.granted(first, lock.semaphore.acquireMany(2, options), task.call.timeoutMs);
    await Promise.all((holds ?? []).map((hold, index) => this.#use(owners[index] ?? first, hold)));
  }

  async #multi(task: Task, flow: string): Promise<void> {
    const other = this.#locks[(task.call.lock + 1) % this.#locks.length] ?? task.lock;
    if (other === task.lock || other.is === 'election') return;
    const plans = [task.lock, other].sort((a, b) => (a.path < b.path ? -1 : 1));
    const owners = plans.map((lock, index) => ownerOf(task, `${flow}.${index}`, { lock, role: roleInMultiLock(lock) }));
    const [first = ownerOf(task, flow)] = owners;
    for (const owner of owners) this.settling.called(owner);
    const both = new InterProcessMultiLock(owners.map(mutexOf));
    const { weight: _weight, ...options } = optionsOf(first);
    const hold = await this.settling.granted(first, both.acquire(options), task.call.timeoutMs);
    if (hold === undefined) return;
    const claims = hold.holds.map((part, index) => this.#judge.granted(owners[index] ?? first, part));
    const together = { claims, hold, stop: hold.signal };
    this.#judge.multiLocks.granted(together);
    await this.work.run(first, claims, hold, together.stop);
    this.#judge.multiLocks.released(together, await this.#release(first, claims, hold));
  }

  async #release(
    owner: Owner,
    claims: readonly Claim[],
    hold: { release(): Promise<ReleaseOutcome> },
  ): Promise<ReleaseOutcome> {
    for (const claim of claims) this.#judge.released(claim);
    const outcome = await this.settling.inTime(owner, 'release', hold.release(), undefined);
    for (const claim of claims) this.#ended(claim.owner, outcome);
    return outcome;
  }

  #ended({ client, id }: Owner, outcome: ReleaseOutcome): void {
    this.#judge.recorder.owner(client.name, id, { type: 'released', outcome });
  }
}

/** The folder of the locks of bursts. */
export const burstPath = '/burst';

function ignore(): void {
  // The lock is released at once.
}
