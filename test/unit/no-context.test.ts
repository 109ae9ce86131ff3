import { expect } from 'chai';
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { runInNewContext } from 'node:vm';
import { promisify } from 'node:util';
import { abort, askApplication, callApplication, inNoContext, tellApplication } from '../../src/support/no-context.ts';

describe('work in no async context', () => {
  const storage = new AsyncLocalStorage<string>();

  it('sees no store of the code that starts it, and passes none on to timers and promises', async () => {
    const seen = await storage.run('a request', () =>
      Promise.all(
        [inNoContext, callApplication].flatMap((outside) => [
          Promise.resolve(outside(() => storage.getStore())),
          outside(() => new Promise((resolve) => setImmediate(() => resolve(storage.getStore())))),
          outside(async () => {
            await Promise.resolve();
            return storage.getStore();
          }),
        ]),
      ),
    );
    expect(seen).to.deep.equal(new Array(6).fill(undefined));
  });

  it('gets its arguments, returns what the function returns, and throws what it throws', () => {
    for (const outside of [inNoContext, callApplication]) {
      expect(outside((a: number, b: number) => a + b, 40, 2)).to.equal(42);
      expect(() =>
        outside(() => {
          throw new RangeError('too far');
        }),
      ).to.throw(RangeError, 'too far');
    }
  });

  it('uses no resource that `jest --detectOpenHandles` takes for one that keeps the process alive', () => {
    const created: { hasRef?: () => boolean }[] = [];
    const hook = createHook({
      init: (_id, type, _trigger, resource) => {
        if (type === 'zookeeper-fair-lock') created.push(resource);
      },
    }).enable();
    callApplication(() => undefined);
    hook.disable();
    expect(created).to.have.lengthOf(1);
    expect(created[0]?.hasRef?.()).to.equal(false);
  });

  it('leaves the context of the caller as it was', () => {
    storage.run('a request', () => {
      for (const outside of [inNoContext, callApplication]) {
        outside(() => undefined);
        expect(storage.getStore()).to.equal('a request');
      }
    });
  });

  it('stays empty after application code has entered a store by enterWith', () => {
    callApplication(() => storage.enterWith('a listener'));
    expect(callApplication(() => storage.getStore())).to.equal(undefined);
    expect(inNoContext(() => storage.getStore())).to.equal(undefined);
    expect(storage.getStore()).to.equal(undefined);
  });

  it('is the context in which the listeners of an aborted signal run', () => {
    const seen: unknown[] = [];
    const aborter = new AbortController();
    aborter.signal.addEventListener('abort', () => seen.push(storage.getStore(), aborter.signal.reason));
    storage.run('a request', () => abort(aborter, 'enough'));
    expect(seen).to.deep.equal([undefined, 'enough']);
  });

  it('is also empty if the module is imported inside of a request', async () => {
    const module = new URL('../../src/support/no-context.ts', import.meta.url).href;
    const program = `
      import { AsyncLocalStorage } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      const { inNoContext, callApplication } = await storage.run('a request', () => import(${JSON.stringify(module)}));
      const timed = inNoContext(() => new Promise((resolve) => setTimeout(() => resolve(storage.getStore() ?? 'nothing'))));
      console.log(inNoContext(() => storage.getStore() ?? 'nothing'), callApplication(() => storage.getStore() ?? 'nothing'), await timed);
    `;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['--import=tsx', '--input-type=module', '-e', program],
      { timeout: 15_000 },
    );
    expect(stdout.trim()).to.equal('nothing nothing nothing');
  });
});

describe('application code that is called', () => {
  const unshowable = Object.defineProperty(new Error('x'), 'name', {
    get: () => {
      throw new Error('no name');
    },
  });
  const failures: Record<string, () => unknown> = {
    'throws an error': () => {
      throw new Error('enough');
    },
    'throws a value that cannot be shown': () => {
      throw unshowable;
    },
    'throws a value that throws when it is inspected': () => {
      // oxlint-disable-next-line typescript/only-throw-error -- applications do
      throw { [Symbol.for('nodejs.util.inspect.custom')]: failures['throws an error'] };
    },
    rejects: () => Promise.reject(new Error('enough')),
    'rejects by a promise of another realm': runInNewContext(
      '() => Promise.reject(new Error("enough"))',
    ) as () => unknown,
    'rejects by a thenable': () => ({
      then: (_: unknown, rejected: (error: Error) => void) => rejected(new Error('enough')),
    }),
  };

  for (const [how, fail] of Object.entries(failures))
    it(`and ${how} stops nothing: the error becomes a process warning`, async () => {
      const warned = once(process, 'warning');
      tellApplication(fail);
      expect(String(((await warned) as Error[])[0]?.message)).to.match(/enough|cannot be shown|x/);
    });

  it('may return a promise where a value is needed now, and its rejection is ignored', async () => {
    const answer = askApplication(() => Promise.reject(new Error('enough')));
    // An unhandled rejection would be reported after the microtasks.
    await new Promise((resolve) => setImmediate(resolve));
    expect(answer).to.be.instanceOf(Promise);
  });
});
