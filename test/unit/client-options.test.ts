import { expect } from 'chai';
import { InvalidPathError } from '../../src/zookeeper/wire/path.ts';
import { checkClientOptions, type LockClientOptions } from '../../src/client/options/client-options.ts';

const check =
  (options: unknown): (() => unknown) =>
  () =>
    checkClientOptions(options as LockClientOptions);

describe("a client's options", () => {
  it('have defaults, and may be undefined', () => {
    const { sessionTimeoutMs, connectionTimeoutMs, auth, aclFor } = checkClientOptions({
      sessionTimeoutMs: undefined,
      signal: undefined,
    });
    expect({ sessionTimeoutMs, connectionTimeoutMs, auth: auth() }).to.deep.equal({
      sessionTimeoutMs: 30_000,
      connectionTimeoutMs: 15_000,
      auth: [],
    });
    expect(aclFor('/a')).to.deep.equal([{ permissions: 31, scheme: 'world', id: 'anyone' }]);
  });

  it('accept a session timeout in whole milliseconds, below 2³¹', () => {
    expect(checkClientOptions({ sessionTimeoutMs: 1_000.2 }).sessionTimeoutMs).to.equal(1_001);
    for (const value of [2 ** 31, 0, -1, NaN, Infinity]) {
      const message = `Expected \`sessionTimeoutMs\` to be a number of milliseconds > 0 and at most 2147483647; servers grant from 2 to 20 times their tickTime, by default 4000 to 40000, got ${value}`;
      expect(check({ sessionTimeoutMs: value })).to.throw(RangeError, message);
    }
  });

  it('are refused if a method is missing, and if the value cannot have one', () => {
    for (const retryPolicy of [null, {}, { allowRetry: 5 }])
      expect(check({ retryPolicy })).to.throw(
        TypeError,
        'Expected `retryPolicy` to be an object with a method `allowRetry`',
      );
    for (const logger of [null, {}, { warn: 5 }])
      expect(check({ logger })).to.throw(TypeError, 'Expected `logger` to be an object with a method `warn`');
  });

  it('accept debug as true or false, false by default', () => {
    expect([checkClientOptions().debug, checkClientOptions({ debug: true }).debug]).to.deep.equal([false, true]);
    for (const debug of ['yes', 1, null])
      expect(check({ debug })).to.throw(TypeError, 'Expected `debug` to be true or false, got ');
  });

  const badEntries = [
    null,
    undefined,
    {},
    'world',
    { permissions: 0, scheme: 'world', id: 'anyone' },
    { permissions: 32, scheme: 'world', id: 'anyone' },
    { permissions: 1, scheme: 5, id: '' },
  ];
  it('are refused with an ACL that no server accepts, also from a provider', () => {
    for (const entry of badEntries) {
      expect(check({ acl: [entry] })).to.throw(
        TypeError,
        /^Expected `acl` to be a non-empty array of|^Expected `acl\[0\]\.permissions` to be a whole number from 1 to 31/,
      );
      expect(() => checkClientOptions({ acl: () => [entry as never] }).aclFor('/a')).to.throw(
        TypeError,
        /^Expected `acl\("\/a"\)` to be a non-empty array of|^Expected `acl\("\/a"\)\[0\]\.permissions` to be/,
      );
    }
  });

  it('ask a provider for valid paths only', () => {
    const asked: string[] = [];
    const acl = (path: string) => {
      asked.push(path);
      return [{ permissions: 31, scheme: 'world', id: 'anyone' }];
    };
    const { aclFor } = checkClientOptions({ acl });
    for (const path of ['/', '/locks']) aclFor(path);
    expect(() => aclFor('/locks/')).to.throw(InvalidPathError);
    expect(asked).to.deep.equal(['/', '/locks']);
  });

  it('are copied: later changes have no effect', () => {
    const entry = { permissions: 13, scheme: 'world', id: 'anyone' };
    const credential = { scheme: 'digest', credentials: 'user:secret' };
    const options = {
      sessionTimeoutMs: 5_000,
      connectionTimeoutMs: 5_000,
      tickTimeMs: 500,
      acl: [entry],
      auth: [credential],
    };
    const checked = checkClientOptions(options);
    Object.assign(entry, { permissions: 31 });
    Object.assign(credential, { credentials: 'other:secret' });
    options.acl.length = 0;
    options.auth.length = 0;
    Object.assign(options, { sessionTimeoutMs: NaN, connectionTimeoutMs: NaN, tickTimeMs: NaN });
    const { sessionTimeoutMs, connectionTimeoutMs, tickTimeMs, auth, aclFor } = checked;
    expect({ sessionTimeoutMs, connectionTimeoutMs, tickTimeMs }).to.deep.equal({
      sessionTimeoutMs: 5_000,
      connectionTimeoutMs: 5_000,
      tickTimeMs: 500,
    });
    expect(auth()).to.deep.equal([{ scheme: 'digest', credentials: 'user:secret' }]);
    expect(aclFor('/a')).to.deep.equal([{ permissions: 13, scheme: 'world', id: 'anyone' }]);
  });

  it('are refused if an entry of a list is missing, or is not a plain object', () => {
    class Entry {
      readonly permissions = 31;
      readonly scheme = 'digest';
      readonly id = 'anyone';
      readonly credentials = 'user:secret';
    }
    for (const entries of [new Array(1), [new Entry()], [new Map()]]) {
      expect(check({ acl: entries })).to.throw(
        TypeError,
        /^Expected `acl` to be a non-empty array of|^Expected `acl\[0\]\.permissions` to be a whole number from 1 to 31/,
      );
      expect(check({ auth: entries })).to.throw(TypeError, 'Expected `auth` to be an array of');
    }
  });

  it('are refused with bad credentials, which are not shown', () => {
    for (const auth of [
      null,
      {},
      [null],
      [{ scheme: '', credentials: 'user:hunter2' }],
      [{ scheme: 'digest', credentials: ['user:hunter2'] }],
    ])
      expect(check({ auth })).to.throw(TypeError, /^Expected `auth` to be an array(?!.*hunter2)/);
  });
});
