import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import {
  expected,
  expectDuration,
  expectFunction,
  expectOneOf,
  expectOptions,
  expectPositive,
  expectSignal,
} from '../../src/support/validate.ts';

describe('an option', () => {
  const shown: [unknown, string][] = [
    ['500', '"500"'],
    [() => 500, 'a function'],
    [{ ms: 500 }, 'an object with "ms"'],
    [{ a: 1, b: 2, c: 3, d: 4, e: 5, f: 6 }, 'an object with "a", "b", "c", "d", "e", …'],
    [{ ['long'.repeat(9)]: 1 }, `an object with "${'long'.repeat(7)}lo"`],
    [{ constructor: 500 }, 'an object with "constructor"'],
    [{}, 'an empty object'],
    [Object.create(null), 'an empty object'],
    [new Date(), 'a Date'],
    [new AbortController(), 'an AbortController'],
    [[], 'an empty array'],
    [[500], 'an array'],
    [500n, '500n'],
    [null, 'null'],
    [undefined, 'undefined'],
    [true, 'true'],
  ];
  for (const [value, text] of shown)
    it(`that is ${text} where a number belongs is refused, and shown as that`, () => {
      expect(() => expectDuration('timeoutMs', value)).to.throw(
        TypeError,
        `Expected \`timeoutMs\` to be a finite number of milliseconds ≥ 0, got ${text}`,
      );
    });

  it('may be 0 if it is a duration, but not if it must be positive', () => {
    expectDuration('timeoutMs', 0);
    expectPositive('tickTimeMs', 0.5);
    expect(() => expectPositive('tickTimeMs', 0)).to.throw(
      RangeError,
      'Expected `tickTimeMs` to be a finite number of milliseconds > 0, got 0',
    );
    for (const value of [-0.5, NaN, Infinity])
      expect(() => expectPositive('tickTimeMs', value)).to.throw(RangeError, `got ${value}`);
  });

  it('is one of the accepted values, or is refused with their names', () => {
    expectOneOf('foreignNodes', 'wait', ['reject', 'wait']);
    expect(() => expectOneOf('foreignNodes', 'ignore', ['reject', 'wait'])).to.throw(
      TypeError,
      "Expected `foreignNodes` to be one of 'reject', 'wait', got \"ignore\"",
    );
  });

  it('is a function, or is refused', () => {
    expectFunction('job', () => undefined);
    expect(() => expectFunction('job', {})).to.throw(TypeError, 'Expected `job` to be a function, got an empty object');
  });

  it('is an AbortSignal of any implementation, or is refused', () => {
    expectSignal('signal', new AbortController().signal);
    expectSignal('signal', { aborted: false, addEventListener: () => undefined });
    for (const value of [null, 5, {}, { aborted: false }, { addEventListener: () => undefined }])
      expect(() => expectSignal('signal', value)).to.throw(TypeError, 'Expected `signal` to be an AbortSignal');
  });

  it('that does not exist is refused with its name', () => {
    expectOptions('acquire', { timeoutMs: 1 }, ['timeoutMs', 'signal']);
    expect(() => expectOptions('acquire', { timeout: 1 }, ['timeoutMs', 'signal'])).to.throw(
      TypeError,
      'Unknown option `timeout` of acquire: accepted are timeoutMs, signal',
    );
  });

  class WaitOptions {
    readonly timeoutMs = 5;
  }
  const notPlain: [unknown, string][] = [
    [null, 'null'],
    [5, '5'],
    [[], 'an empty array'],
    [new Map([['timeoutMs', 5]]), 'a Map'],
    [new Date(), 'a Date'],
    [new WaitOptions(), 'a WaitOptions'],
    [Object.create({ timeoutMs: 5 }), 'an object that inherits from another one'],
    [Object.create(Object.create(null) as object), 'an object that inherits from another one'],
    [runInNewContext('new Map()'), 'a Map'],
    [AbortSignal.timeout(100), 'an AbortSignal: pass it as { signal }'],
    [new AbortController(), 'an AbortController: pass its signal as { signal }'],
  ];
  for (const [value, text] of notPlain)
    it(`has its place in a plain object, and not in ${text}`, () => {
      expect(() => expectOptions('acquire', value, ['timeoutMs', 'signal'])).to.throw(
        TypeError,
        `Expected \`acquire options\` to be a plain object with timeoutMs, signal, got ${text}`,
      );
    });

  it('is a signal only for calls that accept one, also for a caller that passes a polyfill of it', () => {
    const signal = { aborted: false, addEventListener: () => undefined };
    expect(() => expectOptions('acquire', signal, ['timeoutMs', 'signal'])).to.throw(
      TypeError,
      'Unknown option `aborted` of acquire: accepted are timeoutMs, signal: pass it as { signal }',
    );
    expect(() => expectOptions('close', AbortSignal.timeout(100), ['timeoutMs'])).to.throw(
      TypeError,
      /got an AbortSignal$/,
    );
  });

  it('may be in an object without a prototype, of another realm, or in a proxy', () => {
    const known = ['timeoutMs'];
    const options: object[] = [
      { timeoutMs: 5 },
      Object.assign(Object.create(null) as object, { timeoutMs: 5 }),
      runInNewContext('({ timeoutMs: 5 })') as object,
      new Proxy({ timeoutMs: 5 }, {}),
    ];
    for (const each of options) expect(expectOptions('acquire', each, known)).to.deep.equal({ timeoutMs: 5 });
  });

  it('is read once, at the check, and never from a prototype', () => {
    let reads = 0;
    const options = {
      get timeoutMs() {
        return (reads += 1);
      },
    };
    const copy = expectOptions('acquire', options, ['timeoutMs', 'toString']);
    expect([copy.timeoutMs, copy.timeoutMs, reads]).to.deep.equal([1, 1, 1]);
    expect(Object.keys(copy)).to.deep.equal(['timeoutMs']);
  });

  it('shows control characters of a value escaped', () => {
    const raw = 'a\u009b2J\u202eb';
    for (const text of [expected('data', 'a Buffer', raw), expected('data', 'a Buffer', { [raw]: 1 })])
      expect(text).to.contain('a\\u009b2J\\u202eb').and.not.to.contain(raw);
    expect(() => expectOptions('acquire', { [raw]: 1 }, ['data'])).to.throw(TypeError, 'a\\u009b2J\\u202eb');
  });
});
