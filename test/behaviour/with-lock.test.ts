import { expect } from 'chai';
import { getEventListeners, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { LockLostError, LockTimeoutError, type AcquireOptions, type Hold, type LockClient } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { rejection } from '../../lab/until.ts';
import type { Frame } from '../../lab/proxy/zk-proxy.ts';
import { CriticalSection } from '../../lab/critical-section.ts';
import { gate } from '../../lab/gate.ts';
import { queueOf, queueReaches, takeAway } from '../../lab/queue.ts';

class FixedCause extends Error {
  override get cause(): unknown {
    return undefined;
  }
}

class BadCause extends Error {
  override get cause(): unknown {
    throw new TypeError('the cause of an application');
  }
}

class BadName extends Error {
  override get name(): string {
    throw new TypeError('the name of an application');
  }
}

describe('withLock', () => {
  const lab = labOfEachTest('with-lock');

  const failure = new Error('the job failed');
  const failLater = async (): Promise<never> => Promise.reject(failure);
  const failNow = (): never => {
    throw failure;
  };

  it('runs one job at a time, of any client', async () => {
    const section = new CriticalSection(lab.theirs, 4);
    await Promise.all(
      [lab.mutex, lab.theirs, lab.mutex, lab.theirs].map((owner) => owner.withLock(() => section.visit())),
    );
    expect(section).to.deep.include({ visits: 4, most: 1 });
  });

  it('holds the lock while the job runs, and has released it when it settles', async () => {
    const hold = await lab.mutex.withLock(async (given) => {
      expect(given.isValid).to.equal(true);
      expect(await queueOf(lab.theirs)).to.deep.equal([given.path]);
      return given;
    });
    expect(hold.isValid).to.equal(false);
    expect(hold.signal.aborted).to.equal(false);
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
  });

  for (const [kind, value] of Object.entries({
    number: 0,
    text: 'done',
    nothing: undefined,
    null: null,
    list: [1, 2],
    map: new Map([[1, 2]]),
    bytes: Buffer.from('done'),
  }))
    it(`returns the job’s result, sync or async: ${kind}`, async () => {
      expect(await lab.mutex.withLock(() => value)).to.equal(value);
      expect(await lab.mutex.withLock(async () => value)).to.equal(value);
    });

  it('starts a lazy thenable once, inside the context', async () => {
    const started: boolean[] = [];
    const query: PromiseLike<string> = {
      then: (fulfilled, rejected) => {
        started.push(lab.mutex.isOwnedByCurrentContext);
        return Promise.resolve('42 rows').then(fulfilled, rejected);
      },
    };
    expect(await lab.mutex.withLock(() => query)).to.equal('42 rows');
    expect(started).to.deep.equal([true]);
  });

  for (const [how, fail] of Object.entries({ rejects: failLater, throws: failNow }))
    it(`rejects with the error of a job that ${how}, and releases`, async () => {
      expect(await rejection(lab.mutex.withLock(fail))).to.equal(failure);
      expect(await queueOf(lab.theirs)).to.deep.equal([]);
    });

  it('rejects with the error of its job, even if the hold was lost, and the error shows the loss', async () => {
    const cause = new Error('a cause of its own');
    for (const [thrown, causeOfLoss] of [
      [new Error('the job failed'), true],
      [new Error('the job failed', { cause }), false],
      [Object.freeze(new Error('frozen')), undefined],
      [new FixedCause('its cause cannot be set'), undefined],
      [new BadCause('its cause cannot be read'), undefined],
      [new BadName('its name cannot be read'), undefined],
      [runInNewContext("new Error('of another realm, as those of Node are under Jest')"), true],
      [7, undefined],
    ] as const) {
      let lost: Hold | undefined;
      const running = lab.mutex.withLock(async (hold) => {
        lost = hold;
        await takeAway(hold, lab.observer);
        throw thrown as Error;
      });
      const error = await rejection(running);
      expect(error).to.equal(thrown);
      if (causeOfLoss === undefined) continue;
      const loss: unknown = lost?.signal.reason;
      expect(error).to.have.property('lockLost', loss);
      expect(loss).to.be.instanceOf(LockLostError);
      expect(error.cause).to.equal(causeOfLoss ? loss : cause);
    }
    await rejection(lab.mutex.withLock(failLater));
    expect(failure).not.to.have.property('lockLost');
  });

  it('rejects with the error of its job, even if the client was closed', async () => {
    const running = lab.mutex.withLock(async () => {
      await lab.client.close();
      throw failure;
    });
    expect(await rejection(running)).to.equal(failure);
  });

  it('rejects with the LockLostError of the hold when the job fulfils after the loss', async () => {
    let given: Hold | undefined;
    const running = lab.mutex.withLock(async (hold) => {
      given = hold;
      await takeAway(hold, lab.observer);
      return 'too late';
    });
    const error = await rejection(running);
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'node-deleted', path: given?.path });
    expect(given?.signal.reason).to.equal(error);
  });

  for (const [what, wait] of Object.entries<(signal: AbortSignal) => Promise<unknown>>({
    'a timer of Node': (signal) => delay(60_000, undefined, { signal }),
    'a file call of Node': async (signal) => {
      await once(signal, 'abort');
      await readFile(new URL(import.meta.url), { signal });
    },
    throwIfAborted: async (signal) => {
      await once(signal, 'abort');
      signal.throwIfAborted();
    },
    'an AbortError of another realm': async (signal) => {
      await once(signal, 'abort');
      const error = runInNewContext('new Error()') as Error;
      throw Object.assign(error, { name: 'AbortError', cause: signal.reason as unknown });
    },
  }))
    it(`rejects with the LockLostError of the hold if its signal ends the job through ${what}`, async () => {
      let loss: unknown;
      const error = await rejection(
        lab.mutex.withLock(async (hold) => {
          hold.signal.addEventListener('abort', () => void (loss = hold.signal.reason));
          const waiting = wait(hold.signal);
          await takeAway(hold, lab.observer);
          await waiting;
        }),
      );
      expect(error).to.be.instanceOf(LockLostError).and.equal(loss);
    });

  it('rejects with the AbortError of its job if another signal aborted, even if the hold was lost', async () => {
    const error = await rejection(
      lab.mutex.withLock(async (hold) => {
        await takeAway(hold, lab.observer);
        await delay(60_000, undefined, { signal: AbortSignal.abort(failure) });
      }),
    );
    expect(error).to.include({ name: 'AbortError', cause: failure });
  });

  it('rejects with LockLostError when the job fulfils after the client was closed', async () => {
    const error = await rejection(lab.mutex.withLock(() => lab.client.close()));
    expect(error).to.be.instanceOf(LockLostError).and.to.include({ reason: 'client-closed' });
  });

  it('with an inner loss rejects inside and outside, unless the outer job has thrown its own error', async () => {
    let inner: Error | undefined;
    const outer = await rejection(
      lab.mutex.withLock(async () => {
        inner = await rejection(lab.mutex.withLock((hold) => takeAway(hold, lab.observer)));
      }),
    );
    expect(inner).to.be.instanceOf(LockLostError);
    expect(outer).to.equal(inner);
  });

  it('returns the result of a job that has released the hold, whatever happens to the lock afterwards', async () => {
    const running = lab.mutex.withLock(async (hold) => {
      await hold.release();
      return lab.theirs.withLock((next) => next.isValid);
    });
    expect(await running).to.equal(true);
  });

  const outliving: Record<string, () => unknown> = {
    'a readable stream': () => Readable.from(['a']),
    'a duplex stream': () => new PassThrough(),
    'a web stream': () => new ReadableStream(),
    'an async generator': async function* () {
      yield await Promise.resolve(1);
    },
    'a generator': function* () {
      yield 1;
    },
    'an iterator': () => [1][Symbol.iterator](),
    'an async iterable': () => ({ [Symbol.asyncIterator]: () => [1].values() }),
  };
  for (const [result, job] of Object.entries(outliving))
    it(`refuses ${result} as the result of a job, because it would be read after the release, and releases`, async () => {
      for (const returning of [job, async () => job()]) {
        const error = await rejection(lab.mutex.withLock(returning));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.contain('Expected `job` to return a value, got a stream or an iterator');
      }
      expect(await queueOf(lab.theirs)).to.deep.equal([]);
    });

  it('gives up after timeoutMs, and never starts the job', async () => {
    const theirHold = await lab.theirs.acquire();
    const started: unknown[] = [];
    for (const timeoutMs of [0, 30.5]) {
      const error = await rejection(lab.mutex.withLock((hold) => started.push(hold), { timeoutMs }));
      expect(error).to.be.instanceOf(LockTimeoutError);
      expect(error.message).to.match(
        new RegExp(
          `^The lock ${lab.mutex.path} was not acquired within ${timeoutMs} ms: ${timeoutMs === 0 ? 'others hold the lock' : '1 participant is ahead in the queue'}`,
        ),
      );
    }
    await queueReaches(lab.theirs, 1);
    await theirHold.release();
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
    expect(started).to.deep.equal([]);
  });

  it('gives up when its signal aborts, with the reason, and never starts the job', async () => {
    const theirHold = await lab.theirs.acquire();
    const started: unknown[] = [];
    const controller = new AbortController();
    const waiting = rejection(
      lab.mutex.withLock((hold) => started.push(hold), { signal: controller.signal, timeoutMs: 60_000 }),
    );
    await queueReaches(lab.theirs, 2);
    const reason = new Error('changed my mind');
    controller.abort(reason);
    expect(await waiting).to.equal(reason);
    expect(await rejection(lab.mutex.withLock((hold) => started.push(hold), { signal: controller.signal }))).to.equal(
      reason,
    );
    await queueReaches(lab.theirs, 1);
    await theirHold.release();
    expect(await queueOf(lab.theirs)).to.deep.equal([]);
    expect(started).to.deep.equal([]);
  });

  it('limits only its wait by timeoutMs and signal: no timer and no listener is left when the job starts', async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const timeoutMs = 54_321;
    const timers = countTimers(lab.client, timeoutMs);
    try {
      const running = lab.mutex.withLock(
        async (hold) => {
          expect(timers).to.deep.include({ armed: 1, cancelled: 1 });
          expect(getEventListeners(signal, 'abort')).to.deep.equal([]);
          controller.abort();
          expect(hold.isValid).to.equal(true);
          return 'done';
        },
        { timeoutMs, signal },
      );
      expect(await running).to.equal('done');
    } finally {
      timers.stop();
    }
  });
});

describe('the requests of withLock', () => {
  const lab = labOfEachTest('with-lock', { server: 'own', proxy: true });

  const notFunctions = [undefined, null, 'job', {}, Promise.resolve()];
  it('are none for a job that is not a function, which is an error', async () => {
    for (const job of notFunctions) {
      const error = await rejection(lab.mutex.withLock(job as never));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.match(
        /^Expected `job` to be a function, got (undefined|null|"job"|an empty object|a Promise)$/,
      );
    }
    expect(await lab.requests()).to.deep.equal([]);
  });

  const refused: [unknown, typeof TypeError, string][] = [
    [{ timeoutMs: -1 }, RangeError, 'Expected `timeoutMs` to be a finite number of milliseconds ≥ 0, got -1'],
    [{ signal: null }, TypeError, 'Expected `signal` to be an AbortSignal, got null'],
    [
      { timeout: 500 },
      TypeError,
      'Unknown option `timeout` of withLock: accepted are timeoutMs, signal, leaseMs, renewEveryMs, releaseTimeoutMs, data, weight',
    ],
    [
      500,
      TypeError,
      'Expected `withLock options` to be a plain object with timeoutMs, signal, leaseMs, renewEveryMs, releaseTimeoutMs, data, weight, got 500',
    ],
  ];
  it('are none for an invalid option, and the error names option, value and accepted values', async () => {
    for (const [options, kind, message] of refused) {
      const started: unknown[] = [];
      const error = await rejection(lab.mutex.withLock((hold) => started.push(hold), options as AcquireOptions));
      expect(error, message).to.be.instanceOf(kind);
      expect(error.message).to.equal(message);
      const ofAcquire = await rejection(lab.mutex.acquire(options as AcquireOptions));
      expect(ofAcquire.message).to.equal(message.replaceAll('withLock', 'acquire'));
      expect(started).to.deep.equal([]);
    }
    expect(await lab.requests()).to.deep.equal([]);
  });

  it('ignore options that are undefined', async () => {
    expect(await lab.mutex.withLock(() => 'done', { timeoutMs: undefined, signal: undefined })).to.equal('done');
  });

  it('include the delete: withLock settles after its reply, not before', async () => {
    const isAnswer = ({ from, op }: Frame): boolean => from === 'server' && op === 'delete';
    const { opened, open } = gate();
    lab.proxy.on((frame) => (isAnswer(frame) ? { delayUntil: opened } : undefined));
    let isSettled = false;
    const running = lab.mutex.withLock(() => 'done').finally(() => (isSettled = true));
    await lab.proxy.seen(isAnswer);
    expect(isSettled).to.equal(false);
    open();
    expect(await running).to.equal('done');
  });

  for (const [how, disturbed] of [
    ['is answered with an error', { from: 'server', action: { replaceError: -102 } }],
    ['never reaches the server', { from: 'client', action: 'cut' }],
    ['is never answered', { from: 'server', action: 'cut' }],
  ] as const)
    it(`do not hide the result or the error of the job if the delete ${how}`, async () => {
      const failure = new Error('the job failed');
      const disturbOneDelete = (): void => {
        const stop = lab.proxy.on(({ from, op }) => {
          if (op !== 'delete' || from !== disturbed.from) return undefined;
          stop();
          return disturbed.action;
        });
      };
      disturbOneDelete();
      expect(await rejection(lab.mutex.withLock(async () => Promise.reject(failure)))).to.equal(failure);
      disturbOneDelete();
      expect(await lab.mutex.withLock(() => 'done')).to.equal('done');
      expect(await lab.mutex.participants()).to.deep.equal([]);
    });
});

/** Counts the timers with one delay. */
function countTimers(
  { host: { clock } }: LockClient,
  ofMs: number,
): { armed: number; cancelled: number; stop(): void } {
  const after = clock.after.bind(clock);
  const timers = { armed: 0, cancelled: 0, stop: () => void (clock.after = after) };
  clock.after = (delayMs, run) => {
    const cancel = after(delayMs, run);
    if (delayMs !== ofMs) return cancel;
    timers.armed += 1;
    return () => {
      timers.cancelled += 1;
      cancel();
    };
  };
  return timers;
}
