import { expect } from 'chai';
import { InvalidPathError, join, lockPath, parentsOf, validatePath } from '../../src/zookeeper/wire/path.js';

describe('a path', () => {
  for (const path of ['/', '/a', '/locks/orders/42', '/a b', '/...', '/.a', '/a.', '/..a', '/a..', '/é/日本'])
    it(`may be ${path}`, () => {
      expect(validatePath(path)).to.equal(path);
    });

  const refused: [unknown, string][] = [
    ['', 'Path length must be > 0'],
    ['a/b', 'Path must start with / character'],
    [' /a', 'Path must start with / character'],
    ['/a/', 'Path must not end with / character'],
    ['//', 'Path must not end with / character'],
    ['//a', 'empty node name specified @1'],
    ['/a//b', 'empty node name specified @3'],
    ['/.', 'relative paths not allowed @1'],
    ['/..', 'relative paths not allowed @2'],
    ['/a/./b', 'relative paths not allowed @3'],
    ['/a/../b', 'relative paths not allowed @4'],
    ['/a/..', 'relative paths not allowed @4'],
    ['/a\0', 'null character not allowed @2'],
    ['/ab/c\n', 'invalid character @5'],
    ['/lock-\u{1f512}', 'invalid character @6'],
    [undefined, 'Expected `path` to be a string that starts with /, got undefined'],
    [null, 'Expected `path` to be a string that starts with /, got null'],
    [42, 'Expected `path` to be a string that starts with /, got 42'],
    [['/a'], 'Expected `path` to be a string that starts with /, got an array'],
  ];
  for (const [path, why] of refused)
    it(`may not be ${JSON.stringify(path)}: ${why}`, () => {
      expect(() => validatePath(path)).to.throw(InvalidPathError, why);
    });

  it('may contain the characters next to each refused range, but not the ends of the range', () => {
    const taken = [0x20, 0x7e, 0xa0, 0xd7ff, 0xf900, 0xffef];
    const notTaken = [0x01, 0x1f, 0x7f, 0x9f, 0xd800, 0xdfff, 0xe000, 0xf8ff, 0xfff0, 0xffff];
    const paths = (units: number[]) => units.map((unit) => `/a${String.fromCharCode(unit)}b`);
    for (const path of paths(taken)) expect(validatePath(path)).to.equal(path);
    for (const path of paths(notTaken))
      expect(() => validatePath(path)).to.throw(InvalidPathError, 'invalid character @2');
  });

  it('is refused under its own name, so that the log shows which path it was', () => {
    expect(() => validatePath('/a/'))
      .to.throw('"/a/"')
      .with.property('code', 'ERR_LOCK_INVALID_PATH');
  });
});

describe('the path of a lock', () => {
  it('is any path except the root', () => {
    expect(lockPath('/a')).to.equal('/a');
    expect(() => lockPath('/')).to.throw(InvalidPathError, 'A lock needs a znode of its own');
  });

  it('is validated like every path', () => {
    expect(() => lockPath('a')).to.throw(InvalidPathError, 'Path must start with / character');
    expect(() => lockPath('/a/')).to.throw(InvalidPathError, 'Path must not end with / character');
  });
});

describe('parentsOf', () => {
  it('lists the ancestors and the path itself, without the root', () => {
    expect(parentsOf('/a/b/c')).to.deep.equal(['/a', '/a/b', '/a/b/c']);
    expect(parentsOf('/a')).to.deep.equal(['/a']);
    expect(parentsOf('/')).to.deep.equal([]);
  });
});

describe('join', () => {
  it('puts one slash between a path and a name', () => {
    expect(join('/a/b', 'c')).to.equal('/a/b/c');
    expect(join('/', 'a')).to.equal('/a');
  });

  it('are refused if they are so long that a server would close the connection', () => {
    expect(validatePath(`/${'x'.repeat(8_191)}`)).to.have.length(8_192);
    expect(() => validatePath(`/${'ä'.repeat(4_096)}`)).to.throw(
      InvalidPathError,
      'Path must be at most 8192 bytes, got 8193',
    );
  });
});
