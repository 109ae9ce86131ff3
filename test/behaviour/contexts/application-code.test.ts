import { expect } from 'chai';
import fc from 'fast-check';
import { AsyncLocalStorage } from 'node:async_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  InterProcessMultiLock,
  InterProcessMutex,
  LockClient,
  StandardDriver,
  lockContext,
  retryForever,
  revoke,
  type Hold,
  type LockDriver,
} from '../../../src/index.ts';
import { innermostContext } from '../../../src/mutex/lock-context.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, until } from '../../../lab/until.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { CriticalSection } from '../../../lab/critical-section.ts';

/** A store of the application, for example of a request. */
const request = new AsyncLocalStorage<string>();

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

describe('a callback of the application', () => {
  const lab = labOfEachTest('application-code', { client: 'none' });
  /** The contexts that each call saw: none are allowed. */
  const calls = new Map<string, string[]>();

  afterEach(() => calls.clear());

  function saw(caller: string): void {
    const seen = [
      ...(request.getStore() === undefined ? [] : ['a request']),
      ...(innermostContext() === undefined ? [] : ['a lock context']),
    ];
    calls.set(caller, [...(calls.get(caller) ?? []), ...seen]);
  }

  const driver: LockDriver = {
    lockName: 'lock-',
    appendOnly: true,
    sort: (children) => (saw('driver.sort'), standard.sort(children)),
    decide: (sorted, ours) => (saw('driver.decide'), standard.decide(sorted, ours)),
  };
  const standard = new StandardDriver();

  /** Runs an application's job inside the store of a request. */
  const inJob = <T>(job: () => Promise<T>): Promise<T> => request.run('a request', () => lockContext.run(job));

  it('runs in no context, even while the library works for a job', async () => {
    const path = testPath('all-callbacks');
    await inJob(async () => {
      await using client = await lab.connect({
        retryPolicy: { allowRetry: (attempt) => (saw('retryPolicy'), retryForever(5).allowRetry(attempt)) },
        acl: () => (saw('acl'), [{ permissions: 31, scheme: 'world', id: 'anyone' }]),
        logger: { warn: () => saw('logger') },
      });
      client.on('state', (state) => saw(`state ${state}`)).on('background', ({ type }) => saw(`background ${type}`));
      const mutex = new InterProcessMutex(client, path, { driver });
      const other = new InterProcessMutex(client, `${path}-other`);
      for (const event of ['queued', 'acquired', 'renewed', 'expired', 'lost', 'released'] as const)
        mutex.on(event, () => saw(event));
      mutex.makeRevocable(() => saw('revocation listener'));

      // Calls a listener of `renewed` and one of `expired`.
      const short = await mutex.acquire({ leaseMs: 60_000 });
      short.renew(1);
      await aborted(short.signal);
      await short.release();
      await lab.queueReaches(0, path);

      // A waiter whose znode is deleted calls the retry policy, and a revoked holder gets its revocation request.
      const hold = await mutex.acquire();
      const waiting = lockContext.run(() => mutex.acquire({ timeoutMs: 15_000 }));
      await lab.queueReaches(2, path);
      await until('the waiter has called the retry policy', async () => {
        const names = (await mutex.participants()).map((participant) => participant.path);
        if (names[1] !== undefined && !calls.has('retryPolicy')) await lab.observer.remove(names[1]);
        return calls.has('retryPolicy');
      });
      await revoke(client, hold.path);
      await until('the revocation listener is called', () => calls.has('revocation listener'));
      await hold.release();
      const second = await waiting;
      await second.release();

      // All ways to learn of a loss, found by a getter inside a job.
      const both = await new InterProcessMultiLock([other, mutex]).acquire();
      for (const [name, { signal }] of [
        ['multi-hold', both],
        ['hold', both.holds[0] as Hold],
      ] as const)
        signal.addEventListener('abort', () => saw(`${name}.signal`));
      await lab.observer.endSession(client);
      // The client may attach to the old session once more before that session ends.
      await until(
        'the session is replaced',
        () => !both.isValid && calls.has('state lost') && client.state === 'reconnected',
      );
      await both.release();
      client.host.report.warn('a warning', undefined);
    });
    expect([...calls.keys()].sort()).to.deep.equal(
      [
        'acl',
        'acquired',
        'background connected',
        'background disconnected',
        'background session-ended',
        'background warning',
        'driver.decide',
        'driver.sort',
        'expired',
        'hold.signal',
        'logger',
        'lost',
        'multi-hold.signal',
        'queued',
        'released',
        'renewed',
        'retryPolicy',
        'revocation listener',
        'state closed',
        'state lost',
        'state reconnected',
        'state suspended',
      ].sort(),
    );
    expect(Object.fromEntries([...calls].filter(([, seen]) => seen.length > 0))).to.deep.equal({});
  });

  it('does not share the lock of the job that connected the client', async () => {
    const proxy = await startProxy(Number(lab.connectString.split(':').at(-1)));
    const path = testPath('listener-and-job');
    const section = new CriticalSection(new InterProcessMutex(await lab.connect(), path), 2);
    try {
      await lockContext.run(async () => {
        const client = await lab.connect({ sessionTimeoutMs: 4_000 }, proxy.connectString);
        const mutex = new InterProcessMutex(client, path);
        const lost = await mutex.acquire();
        const listened = new Promise<void>((resolve, reject) => {
          client.on('state', (state) => {
            if (state === 'reconnected') mutex.withLock(() => section.visit()).then(resolve, reject);
          });
        });
        const loss = aborted(lost.signal);
        await proxy.refuse();
        await lab.observer.endSession(client);
        await proxy.accept();
        await loss;
        await lost.release();
        const hold = await mutex.acquire();
        await section.visit();
        await hold.release();
        await listened;
      });
    } finally {
      await proxy.close();
    }
    expect(section).to.deep.include({ visits: 2, most: 1 });
  });

  it('keeps no context of a request alive that aborts or releases, while no server answers', async () => {
    const proxy = await startProxy(Number(lab.connectString.split(':').at(-1)));
    const stores = new AsyncLocalStorage<object>();
    const path = testPath('given-up');
    const theirs = await new InterProcessMutex(await lab.connect(), path).acquire();
    const client = await LockClient.connect(proxy.connectString, { sessionTimeoutMs: 20_000 });
    const aborter = new AbortController();
    try {
      const hold = await new InterProcessMutex(client, `${path}-own`).acquire();
      const waiting = new InterProcessMutex(client, path).acquire({ signal: aborter.signal }).catch(() => 'given up');
      await lab.queueReaches(2, path);
      proxy.silence();
      const store = stores.run({ payload: Buffer.alloc(1_000_000) }, () => {
        aborter.abort();
        void hold.release();
        return new WeakRef(stores.getStore() as object);
      });
      expect(await waiting).to.equal('given up');
      await until('the store of the request is collected', () => {
        collectGarbage();
        return store.deref() === undefined;
      });
      expect(await lab.observer.children(path), 'the znode of the waiter is not deleted yet').to.have.length(2);
    } finally {
      proxy.speak();
      await client.close();
      await proxy.close();
      await theirs.release();
    }
  });

  it('keeps no context alive in which a client was connected or a lock acquired', async () => {
    const stores = new AsyncLocalStorage<object>();
    const mutexes: InterProcessMutex[] = [];
    const holds: Hold[] = [];
    const serve = async (): Promise<WeakRef<object>> => {
      const store = { payload: Buffer.alloc(1_000_000) };
      await stores.run(store, async () => {
        const client = await lab.connect({ sessionTimeoutMs: 4_000 });
        const mutex = new InterProcessMutex(client, testPath('kept'));
        const sticky = new InterProcessMutex(client, testPath('kept-sticky'), { sticky: { idleMs: 60_000 } });
        mutexes.push(mutex, sticky);
        holds.push(
          await mutex.acquire(),
          await mutex.acquire({ timeoutMs: 20 }).catch(() => sticky.acquire()),
          await new InterProcessMutex(client, testPath('kept-lease')).acquire({ leaseMs: 60_000 }),
        );
        await sticky.release();
      });
      return new WeakRef(store);
    };
    const kept = await serve();
    // Several heartbeats later: each heartbeat arms the next one.
    await until('the store of the request is collected', () => {
      collectGarbage();
      return kept.deref() === undefined;
    });
    expect(holds.slice(0, 1).every((hold) => hold.isValid)).to.equal(true);
    await Promise.all(holds.map((hold) => hold.release()));
  });

  it('never re-enters, in any interleaving of listeners, lazy connects, getters and losses', async () => {
    const steps = ['connect', 'listen', 'acquire', 'wait', 'look', 'lose', 'take away', 'abort', 'release'] as const;
    type Step = (typeof steps)[number];
    const wheres = ['outside', 'in a job', 'in a withLock'] as const;
    const script = fc.array(fc.record({ step: fc.constantFrom<Step>(...steps), where: fc.constantFrom(...wheres) }), {
      minLength: 4,
      maxLength: 14,
    });
    await fc.assert(
      fc.asyncProperty(script, async (all) => {
        const path = testPath('interleaved');
        const bystander = await lab.connect();
        const other = new InterProcessMutex(bystander, `${path}-other`);
        let client: LockClient | undefined;
        let mutex: InterProcessMutex | undefined;
        const wrong: string[] = [];
        const pending: Promise<unknown>[] = [];
        const aborters: AbortController[] = [];
        const holds: Hold[] = [];
        const recordCall = (caller: string): void => {
          if (innermostContext() !== undefined || request.getStore() !== undefined)
            wrong.push(`${caller} is called in a context`);
          if (mutex?.isOwnedByCurrentContext) wrong.push(`${caller} owns the lock`);
          pending.push(
            (mutex?.tryAcquire() ?? Promise.resolve(undefined)).then(
              (hold) => {
                if (hold && holds.some((held) => held.path === hold.path)) wrong.push(`${caller} re-entered`);
                return hold?.release();
              },
              () => undefined,
            ),
          );
        };
        const listenTo = (hold: Hold): void => {
          holds.push(hold);
          hold.signal.addEventListener('abort', () => recordCall('an abort'));
        };
        const play: Record<Step, () => Promise<unknown>> = {
          connect: async () => {
            if (client) return;
            client = await lab.connect({ sessionTimeoutMs: 2_000 });
            mutex = new InterProcessMutex(client, path);
          },
          listen: async () => {
            client
              ?.once('state', () => recordCall('a state'))
              .once('background', () => recordCall('a background event'));
            mutex
              ?.once('lost', () => recordCall('lost'))
              .once('acquired', () => recordCall('acquired'))
              .once('released', () => recordCall('released'));
          },
          acquire: async () => {
            const hold = await mutex?.acquire({ timeoutMs: 30 }).catch(() => undefined);
            if (hold) listenTo(hold);
          },
          wait: async () => {
            const aborter = new AbortController();
            aborters.push(aborter);
            if (mutex)
              pending.push(
                mutex.acquire({ timeoutMs: 200, signal: aborter.signal }).then(
                  (hold) => (listenTo(hold), hold.release()),
                  () => undefined,
                ),
              );
          },
          look: async () => [mutex?.isAcquiredInThisProcess, ...holds.map((hold) => hold.isValid)],
          lose: async () => client && lab.observer.endSession(client),
          'take away': async () => holds[0] && lab.observer.remove(holds[0].path).catch(() => undefined),
          abort: async () => aborters[0]?.abort(),
          release: async () => holds[0]?.release(),
        };
        for (const { step, where } of all) {
          if (where === 'outside') await play[step]();
          else if (where === 'in a job') await inJob(() => play[step]());
          else await request.run('a request', () => other.withLock(() => play[step]()));
        }
        await Promise.all(holds.map((hold) => hold.release()));
        for (let settled = 0; settled < pending.length; settled = pending.length) await Promise.all(pending);
        await Promise.all([bystander.close(), client?.close()]);
        expect(wrong, JSON.stringify(all)).to.deep.equal([]);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });
});
