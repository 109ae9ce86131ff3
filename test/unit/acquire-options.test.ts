import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import {
  checkAcquireOptions,
  checkTryOptions,
  checkWaitOptions,
  type AcquireOptions,
} from '../../src/mutex/acquire-options.ts';

describe('the options of an acquire', () => {
  const refused: [Record<string, unknown>, typeof TypeError | typeof RangeError, string][] = [
    [{ leaseMs: '500' }, TypeError, 'Expected `leaseMs` to be a finite number of milliseconds ≥ 1, got "500"'],
    [{ leaseMs: null }, TypeError, 'Expected `leaseMs` to be a finite number of milliseconds ≥ 1, got null'],
    [{ leaseMs: 0 }, RangeError, 'Expected `leaseMs` to be a finite number of milliseconds ≥ 1, got 0'],
    [{ leaseMs: 0.9 }, RangeError, 'Expected `leaseMs` to be a finite number of milliseconds ≥ 1, got 0.9'],
    [{ leaseMs: Infinity }, RangeError, 'Expected `leaseMs` to be a finite number of milliseconds ≥ 1, got Infinity'],
    [{ leaseMs: NaN }, RangeError, 'Expected `leaseMs` to be a finite number of milliseconds ≥ 1, got NaN'],
    [
      { renewEveryMs: 500 },
      TypeError,
      'Expected `leaseMs` together with `renewEveryMs`, which is 500: without `leaseMs` there is no lease to renew',
    ],
    [
      { leaseMs: 1_000, renewEveryMs: 0 },
      RangeError,
      'Expected `renewEveryMs` to be a finite number of milliseconds ≥ 1, got 0',
    ],
    [
      { leaseMs: 1_000, renewEveryMs: 2_000 },
      RangeError,
      'Expected `renewEveryMs` to be less than `leaseMs`, which is 1000, got 2000',
    ],
    [
      { leaseMs: 1_000, renewEveryMs: 1_000 },
      RangeError,
      'Expected `renewEveryMs` to be less than `leaseMs`, which is 1000, got 1000',
    ],
    [
      { releaseTimeoutMs: '3000' },
      TypeError,
      'Expected `releaseTimeoutMs` to be a finite number of milliseconds ≥ 0, got "3000"',
    ],
    [
      { releaseTimeoutMs: -1 },
      RangeError,
      'Expected `releaseTimeoutMs` to be a finite number of milliseconds ≥ 0, got -1',
    ],
    [
      { releaseTimeoutMs: Infinity },
      RangeError,
      'Expected `releaseTimeoutMs` to be a finite number of milliseconds ≥ 0, got Infinity: leave it out to wait until the session’s deadline',
    ],
    [
      { data: 'worker 7' },
      TypeError,
      'Expected `data` to be a Uint8Array, such as a Buffer, or \'owner\', got "worker 7"',
    ],
    [{ data: new Uint8Array(512 * 1_024 + 1) }, RangeError, 'Expected `data` to be at most 524288 bytes, got 524289'],
    [
      { lease: 500 },
      TypeError,
      'Unknown option `lease` of acquire: accepted are timeoutMs, signal, leaseMs, renewEveryMs, releaseTimeoutMs, data',
    ],
  ];
  for (const [options, kind, message] of refused)
    it(`are refused with ${message.slice(0, 120)}`, () => {
      expect(() => checkAcquireOptions('acquire', options)).to.throw(kind, message);
      if (!('lease' in options)) expect(() => checkTryOptions(options)).to.throw(kind, message);
    });

  it('are accepted at their limits', () => {
    for (const leaseMs of [1, 1.5, 2 ** 31, Number.MAX_VALUE])
      expect(checkAcquireOptions('acquire', { leaseMs })).to.deep.equal({ leaseMs });
    checkAcquireOptions('acquire', { releaseTimeoutMs: 0 });
    checkAcquireOptions('acquire', { leaseMs: 2, renewEveryMs: 1, data: new Uint8Array(512 * 1_024) });
    checkAcquireOptions('acquire', { leaseMs: undefined, renewEveryMs: undefined, data: undefined });
  });

  it('of tryAcquire may be a time alone, which is 0 by default', () => {
    expect(checkTryOptions()).to.deep.equal({ timeoutMs: 0 });
    expect(checkTryOptions(500)).to.deep.equal({ timeoutMs: 500 });
    expect(checkTryOptions({ leaseMs: 500 })).to.deep.equal({ timeoutMs: 0, leaseMs: 500 });
    expect(checkTryOptions({ timeoutMs: 300 })).to.deep.equal({ timeoutMs: 300 });
    expect(() => checkTryOptions(null as unknown as AcquireOptions)).to.throw(
      TypeError,
      'Expected `tryAcquire options` to be a plain object',
    );
    expect(() => checkTryOptions('500' as unknown as number)).to.throw(
      TypeError,
      'Expected `timeoutMs` to be a finite number of milliseconds ≥ 0, got "500"',
    );
  });

  it("are copied, data included: a later change of the caller's object has no effect", () => {
    const data = Buffer.from('worker 7');
    const options = { timeoutMs: 1, leaseMs: 1_000, renewEveryMs: 500, data };
    const checked = checkAcquireOptions('acquire', options);
    const waiting = checkWaitOptions('forceRelease', { timeoutMs: 1 });
    Object.assign(options, { timeoutMs: NaN, leaseMs: NaN, renewEveryMs: NaN, data: 'nothing' });
    data.fill(0);
    expect(checked).to.deep.equal({ timeoutMs: 1, leaseMs: 1_000, renewEveryMs: 500, data: Buffer.from('worker 7') });
    expect(waiting).to.deep.equal({ timeoutMs: 1 });
  });

  it('may contain data of another realm, as in Jest', () => {
    const data = runInNewContext('Uint8Array.of(1, 2)') as Uint8Array;
    expect(data).not.to.be.instanceOf(Uint8Array);
    expect(checkAcquireOptions('acquire', { data }).data).to.deep.equal(Buffer.of(1, 2));
  });

  it('of a call that acquires nothing are fewer', () => {
    expect(() => checkWaitOptions('forceRelease', { leaseMs: 500 } as object)).to.throw(
      TypeError,
      'Unknown option `leaseMs` of forceRelease: accepted are timeoutMs, signal',
    );
  });
});
