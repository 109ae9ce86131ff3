import { expect } from 'chai';
import fc from 'fast-check';
import { InterProcessMutex, lockContext, type Hold, type LockClient } from '../../../src/index.ts';
import { SharedLocks } from '../../../src/mutex/shared-lock.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';

/** The steps of one job, as a tree: each step runs inside its parents. */
type Step =
  | { readonly do: 'withLock' | 'acquire' | 'client.withLock'; readonly path: number; readonly inside: readonly Step[] }
  | { readonly do: 'run' | 'bind' | 'branches'; readonly inside: readonly Step[] }
  | { readonly do: 'try'; readonly path: number };

const paths = 2;

const steps = fc.letrec<{ step: Step; inside: Step[] }>((tie) => ({
  inside: fc.array(tie('step'), { maxLength: 3 }),
  step: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.record({ do: fc.constant('try' as const), path: fc.nat(paths - 1) }),
    fc.record({
      do: fc.constantFrom('withLock', 'acquire', 'client.withLock'),
      path: fc.nat(paths - 1),
      inside: tie('inside'),
    }) as fc.Arbitrary<Step>,
    fc.record({ do: fc.constantFrom('run', 'bind', 'branches'), inside: tie('inside') }) as fc.Arbitrary<Step>,
  ),
}));

describe('jobs with an object per call', function () {
  this.timeout(120_000);
  const lab = labOfEachTest('many-objects');

  it('exclude each other, re-enter only their own holds, and leave no znode, in any order', async () => {
    const all = fc.array(fc.array(steps.step, { minLength: 1, maxLength: 3 }), { minLength: 2, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(all, async (jobs) => {
        const world = new World(Array.from({ length: paths }, () => testPath('many-objects')));
        await Promise.all(jobs.map((job, index) => world.runJob(index % 2 ? lab.other : lab.client, job)));
        expect(world.wrong, JSON.stringify(jobs)).to.deep.equal([]);
        for (const client of [lab.client, lab.other])
          expect(client.host.companions.of(SharedLocks).inUse.size).to.equal(0);
        // A wait that is given up deletes its znode in the background.
        for (const path of world.paths)
          await until(`${path} is free`, async () => (await lab.observer.children(path).catch(() => [])).length === 0);
      }),
      { numRuns: 60, endOnFailure: true },
    );
  });
});

/** A job is an owner, and so is each `run` and `bind` in it. */
interface Owner {
  readonly client: LockClient;
  /** The paths that the owner holds now, with the number of its holds. */
  readonly held: Map<string, number>;
}

class World {
  readonly paths: readonly string[];
  readonly wrong: string[] = [];
  /** The owner that is inside, by path. */
  readonly #inside = new Map<string, Owner>();

  constructor(paths: readonly string[]) {
    this.paths = paths;
  }

  runJob(client: LockClient, job: readonly Step[]): Promise<void> {
    return lockContext.run(() => this.#run({ client, held: new Map() }, job));
  }

  async #run(owner: Owner, inside: readonly Step[]): Promise<void> {
    for (const step of inside) await this.#play(owner, step);
  }

  async #play(owner: Owner, step: Step): Promise<void> {
    const { client } = owner;
    switch (step.do) {
      case 'run':
        return lockContext.run(() => this.#run({ client, held: new Map() }, step.inside));
      case 'bind':
        return lockContext.bind(() => this.#run({ client, held: new Map() }, step.inside))();
      case 'branches':
        // Branches of one owner would release in an order that the model cannot predict: the branches only try.
        await Promise.all(step.inside.map(async (each) => ('path' in each ? this.#try(owner, each.path) : undefined)));
        return;
      case 'try':
        return this.#try(owner, step.path);
      default:
        return this.#enter(owner, step);
    }
  }

  async #enter(
    owner: Owner,
    { do: how, path: index, inside }: Extract<Step, { path: number; inside: readonly Step[] }>,
  ): Promise<void> {
    const path = this.paths[index] ?? '';
    const { client } = owner;
    // Two jobs that take two locks in opposite order would wait for each other, and a job inside a holder would wait
    // for itself.
    const options = owner.held.has(path) ? {} : { timeoutMs: 60 };
    const job = (hold: Hold): Promise<void> => this.#visit(owner, path, hold, inside);
    try {
      if (how === 'client.withLock') await client.withLock(path, job, options);
      else if (how === 'withLock') await new InterProcessMutex(client, path).withLock(job, options);
      else {
        const hold = await new InterProcessMutex(client, path).acquire(options);
        await job(hold);
        // Any object may release: the hold is the latest of this owner.
        if ((await new InterProcessMutex(client, path).release()) !== 'released')
          this.wrong.push('a release found no hold');
        if (hold.isValid) this.wrong.push('a release did not release the latest hold');
      }
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_LOCK_TIMEOUT') throw error;
      if (owner.held.has(path)) this.wrong.push('a holder did not re-enter its own lock');
    }
  }

  async #visit(owner: Owner, path: string, hold: Hold, inside: readonly Step[]): Promise<void> {
    const depth = owner.held.get(path) ?? 0;
    if (hold.isReentrant !== depth > 0) this.wrong.push(`re-entrant: ${hold.isReentrant} at depth ${depth}`);
    if (depth === 0 && this.#inside.has(path)) this.wrong.push('two owners are inside');
    owner.held.set(path, depth + 1);
    this.#inside.set(path, owner);
    this.#checkQueries(owner, path);
    await this.#run(owner, inside);
    this.#checkQueries(owner, path);
    if (depth === 0) {
      owner.held.delete(path);
      this.#inside.delete(path);
    } else {
      owner.held.set(path, depth);
    }
  }

  async #try(owner: Owner, index: number): Promise<void> {
    const path = this.paths[index] ?? '';
    const hold = await new InterProcessMutex(owner.client, path).tryAcquire();
    if (!hold) {
      if (owner.held.has(path)) this.wrong.push('a try of a holder returned undefined');
      return;
    }
    const others = this.#inside.get(path);
    if (others && others !== owner) this.wrong.push('a try got the lock of another owner');
    if (owner.held.has(path) && !hold.isReentrant) this.wrong.push('a try of a holder did not re-enter');
    await hold.release();
  }

  /** Checks that any object knows the holds of its owner. */
  #checkQueries(owner: Owner, path: string): void {
    const mutex = new InterProcessMutex(owner.client, path);
    if (!mutex.isOwnedByCurrentContext || !mutex.isAcquiredInThisProcess)
      this.wrong.push('isOwnedByCurrentContext or isAcquiredInThisProcess is false for the owner');
    if (mutex.holdCount !== owner.held.get(path))
      this.wrong.push(`holdCount is ${mutex.holdCount} instead of ${owner.held.get(path)}`);
  }
}
