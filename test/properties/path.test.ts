import { expect } from 'chai';
import fc from 'fast-check';
import { InvalidPathError, join, lockPath, parentsOf, validatePath } from '../../src/zookeeper/wire/path.js';

const isRefused = /[\u0000-\u001f\u007f-\u009f\ud800-\uf8ff\ufff0-\uffff/]/; // oxlint-disable-line no-control-regex
const names = fc
  .string({ unit: 'binary', minLength: 1 })
  .filter((name) => !isRefused.test(name) && !name.includes('/') && name !== '.' && name !== '..');
const paths = fc.array(names, { minLength: 1, maxLength: 6 }).map((parts) => `/${parts.join('/')}`);

describe('a path with any names', () => {
  it('is accepted if each of its names is valid, and is returned unchanged', () => {
    fc.assert(
      fc.property(paths, (path) => {
        expect(validatePath(path)).to.equal(path);
        expect(lockPath(path)).to.equal(path);
      }),
    );
  });

  it('is refused if one refused character is inserted anywhere after its first slash', () => {
    const refused = fc.oneof(
      fc.integer({ min: 0, max: 0x1f }),
      fc.integer({ min: 0x7f, max: 0x9f }),
      fc.integer({ min: 0xd800, max: 0xf8ff }),
      fc.integer({ min: 0xfff0, max: 0xffff }),
    );
    fc.assert(
      fc.property(paths, refused, fc.nat(), (path, unit, place) => {
        const at = 1 + (place % path.length);
        const broken = path.slice(0, at) + String.fromCharCode(unit) + path.slice(at);
        const why = unit === 0 ? `null character not allowed @${at}` : `invalid character @${at}`;
        expect(() => validatePath(broken)).to.throw(InvalidPathError, why);
      }),
    );
  });

  it('is refused if an empty or a relative name is inserted anywhere', () => {
    fc.assert(
      fc.property(fc.array(names), fc.constantFrom('', '.', '..'), fc.array(names), (before, name, after) => {
        fc.pre(before.length + after.length > 0);
        expect(() => validatePath(`/${[...before, name, ...after].join('/')}`)).to.throw(InvalidPathError);
      }),
    );
  });

  it('is the last of its parents, each of which has one name more than the one before', () => {
    fc.assert(
      fc.property(fc.array(names, { minLength: 1 }), (parts) => {
        const parents = parentsOf(`/${parts.join('/')}`);
        expect(parents).to.have.length(parts.length);
        let base = '/';
        parents.forEach((parent, index) => {
          base = join(base, parts[index] ?? '');
          expect(parent).to.equal(base);
        });
      }),
    );
  });
});
