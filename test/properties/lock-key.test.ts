import { expect } from 'chai';
import fc from 'fast-check';
import { validatePath } from '../../src/zookeeper/wire/path.ts';
import { lockKey } from '../../src/mutex/lock-key.ts';

describe('a lock key', () => {
  /** Any string: halves of surrogate pairs, control characters, separators and escapes included. */
  const units = fc.oneof(
    fc.constantFrom(
      '/',
      ':',
      '::',
      '.',
      '..',
      '%',
      '%2F',
      '%u',
      '%uD800',
      'D800',
      '\0',
      '\ud800',
      '\udc00',
      '😀',
      'ü',
      ' ',
      'a',
      '0',
      '￿',
      '',
    ),
    fc.string({ unit: 'binary', maxLength: 3 }),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
  );
  const text = fc.oneof(
    fc.array(units, { maxLength: 6 }).map((parts) => parts.join('')),
    fc.string({ maxLength: 400, unit: 'binary' }),
  );
  const pair = fc.tuple(text, text);

  it('is one segment of a valid path, of at most 255 ASCII characters', () => {
    fc.assert(
      fc.property(pair, ([type, target]) => {
        const key = lockKey(type, target);
        expect(validatePath(`/${key}`)).to.equal(`/${key}`);
        expect(key).to.match(/^[!-.0-~]{1,255}$/);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is the same for the same pair, and differs for every other pair', () => {
    fc.assert(
      fc.property(pair, pair, (one, other) => {
        const isSame = one[0] === other[0] && one[1] === other[1];
        expect(lockKey(...one) === lockKey(...other)).to.equal(isSame);
        expect(lockKey(...one)).to.equal(lockKey(...one));
      }),
      { numRuns: 5_000 },
    );
  });

  it('differs wherever the boundary between type and target lies, and whatever text resembles it', () => {
    fc.assert(
      fc.property(text, fc.nat(), fc.nat(), (all, a, b) => {
        const [i, j] = [a % (all.length + 1), b % (all.length + 1)];
        fc.pre(i !== j);
        expect(lockKey(all.slice(0, i), all.slice(i))).to.not.equal(lockKey(all.slice(0, j), all.slice(j)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('can be decoded if it is not cut off', () => {
    fc.assert(
      fc.property(pair, ([type, target]) => {
        const key = lockKey(type, target);
        fc.pre(!key.includes('::') || !/[0-9a-f]{64}$/.test(key));
        expect(key.split(':').map(unescaped)).to.deep.equal([type, target]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('differs from the key of a pair that is spelled like the key of a long pair', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 260, maxLength: 400 }), (long) => {
        const key = lockKey('type', long);
        expect(key)
          .to.have.length(255)
          .and.match(/::[0-9a-f]{64}$/);
        for (let at = key.indexOf(':'); at >= 0; at = key.indexOf(':', at + 1))
          expect(lockKey(key.slice(0, at), key.slice(at + 1))).to.not.equal(key);
      }),
      { numRuns: 200 },
    );
  });

  for (const [type, target, key] of [
    ['orders', '42', 'orders:42'],
    ['file', '/etc/ü', 'file:%2Fetc%2F%C3%BC'],
    ['', '', ':'],
    ['a:b', 'c', 'a%3Ab:c'],
    ['half', '\ud800', 'half:%uD800'],
    ['half', '%uD800', 'half:%25uD800'],
  ] as const)
    it(`of ${JSON.stringify(type)} and ${JSON.stringify(target)} is ${key}`, () =>
      expect(lockKey(type, target)).to.equal(key));

  it('is complete up to 255 characters', () => {
    expect(lockKey('t', 'x'.repeat(253))).to.equal(`t:${'x'.repeat(253)}`);
    expect(lockKey('t', 'x'.repeat(254))).to.match(/^t:x{187}::[0-9a-f]{64}$/);
  });

  it('of a number or a bigint is that of its decimal text', () => {
    fc.assert(
      fc.property(
        fc.maxSafeInteger(),
        fc.bigInt(),
        (number, big) => lockKey(number, big) === lockKey(String(number), String(big)),
      ),
    );
    expect(lockKey('orders', 1.5)).to.equal('orders:1.5');
    expect(lockKey('orders', -0)).to.equal('orders:0');
  });

  it('is refused for a value without a text, and for a number that may have been rounded', () => {
    for (const value of [undefined, null, {}, true, Symbol('42')]) {
      expect(() => lockKey('orders', value as string)).to.throw(
        TypeError,
        'Expected `target` to be a string, a number or a bigint, got',
      );
      expect(() => lockKey(value as string, '42')).to.throw(
        TypeError,
        'Expected `type` to be a string, a number or a bigint, got',
      );
    }
    for (const value of [NaN, Infinity, -Infinity])
      expect(() => lockKey('orders', value)).to.throw(
        RangeError,
        `Expected \`target\` to be a string, a finite number or a bigint, got ${value}`,
      );
    for (const value of [2 ** 53, -(2 ** 53), 1e300])
      expect(() => lockKey('orders', value)).to.throw(RangeError, 'pass it as a string or a bigint');
  });
});

/** Half of a surrogate pair cannot be encoded in UTF-8, so it is written as `%u` and its number. */
function unescaped(escaped: string): string {
  return escaped
    .split(/(%u[0-9A-F]{4})/)
    .map((part) =>
      part.startsWith('%u') ? String.fromCharCode(Number.parseInt(part.slice(2), 16)) : decodeURIComponent(part),
    )
    .join('');
}
