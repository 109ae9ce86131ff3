import { expect } from 'chai';
import type { AclEntry, AclProvider, Credential } from '../../src/index.ts';
import { accountText, checkAuth, checkedAcl, type OtherIdentities } from '../../src/client/options/access-rights.ts';
import { anyone, creatorOnly, digest, digestId, permission } from '../../lab/wire/account.ts';

const alice = digest('alice:open sesame');
const entry = (scheme: string, id: string, permissions: number = permission.all): AclEntry => ({
  permissions,
  scheme,
  id,
});
const check =
  (acl: AclProvider, auth: readonly Credential[] = [alice]): (() => unknown) =>
  () =>
    checkedAcl(acl, auth);
const enough = permission.read | permission.create | permission.delete;

describe('an ACL', () => {
  for (const [what, acl, auth] of [
    ['that is open', [anyone(permission.all)], []],
    ['with just enough for the world', [anyone(enough)], []],
    ['for the creator only', creatorOnly, [alice]],
    ['for the creator by its hash', [entry('digest', digestId('alice:open sesame'))], [alice]],
    [
      'for one of several accounts',
      [entry('digest', digestId('alice:open sesame'))],
      [digest('bob:under the rose'), alice],
    ],
    [
      'that gives the required permissions in parts',
      [
        anyone(permission.read),
        entry('auth', '', permission.create),
        entry('digest', digestId('alice:open sesame'), permission.delete),
      ],
      [alice],
    ],
    ['of a name', 'open', []],
    ['for the creator only, by its name', 'creator-only', [alice]],
    ['for an address, which only the servers can check', [entry('ip', '10.0.0.0/8'), entry('ip', '::1')], []],
    ['of a scheme that only the servers can check', [entry('custom', 'alice@EXAMPLE.COM')], []],
    [
      'for an account whose hash is longer, which servers can be configured to use',
      [entry('digest', `alice:${'A'.repeat(43)}=`)],
      [alice],
    ],
    [
      'for another account, by the superuser',
      [entry('digest', digestId('bob:under the rose'))],
      [digest('super:user')],
    ],
    [
      'for another account, by a client with a scheme that only the servers can check',
      [entry('digest', digestId('bob:under the rose'))],
      [{ scheme: 'custom', credentials: 'x' }],
    ],
  ] as const)
    it(`${what} is accepted`, () => {
      const { aclFor, aclForParents, aclSchemes } = checkedAcl(acl, auth);
      const list = acl === 'open' ? [anyone(permission.all)] : acl === 'creator-only' ? creatorOnly : acl;
      expect(aclFor('/a')).to.deep.equal(list);
      for (const path of ['/', '/a', '/a/lock']) expect(aclForParents(path, '/a/lock')).to.deep.equal(list);
      expect([...aclSchemes]).to.have.members([...new Set(list.map(({ scheme }) => scheme))]);
    });

  for (const missing of [permission.read, permission.create, permission.delete])
    it(`that does not give permission ${missing} is refused: no lock works below such a znode`, () => {
      expect(check([anyone(permission.all & ~missing)])).to.throw(
        TypeError,
        `(${missing}) to the account digest "alice"`,
      );
      expect(check([anyone(permission.all & ~missing)], [])).to.throw(
        TypeError,
        `(${missing}) to a client without the option \`auth\`:`,
      );
    });

  it('that gives all rights to another account is refused', () => {
    for (const id of [digestId('bob:open sesame'), digestId('alice:open barley')])
      expect(check([entry('digest', id)])).to.throw(TypeError, 'does not give read (1), create (4), delete (8)');
    expect(check([entry('digest', digestId('alice:open sesame'))], [])).to.throw(
      TypeError,
      'to a client without the option `auth`',
    );
  });

  it('that no server accepts is refused, and its id is not shown if it may be a password', () => {
    expect(check([entry('auth', '')], [])).to.throw(TypeError, 'none is given');
    expect(check([entry('world', 'alice')])).to.throw(TypeError, "the id of scheme 'world' is 'anyone'");
    for (const id of [
      'alice',
      'alice:',
      ':hunter2',
      'alice:hunter2',
      `alice:bob:${'A'.repeat(27)}=`,
      `alice:${'A'.repeat(27)}= `,
    ])
      expect(check([entry('digest', id)])).to.throw(TypeError, /^(?!.*hunter2).*scheme 'digest'/);
    for (const id of ['10.0.0.1/33', '::1/129', 'localhost', '10.0.0.0/8/8', '10.0.0.0/', ''])
      expect(check([entry('ip', id)])).to.throw(TypeError, "the id of scheme 'ip'");
  });

  it('of a lock that writes must let this client write', () => {
    const usual = [anyone(permission.read | permission.create | permission.delete)];
    for (const [acl, name] of [
      [usual, '`acl`'],
      [() => usual, '`acl("/a")`'],
    ] as const) {
      const { requireWrite } = checkedAcl(acl, []);
      expect(() => requireWrite('/a', 'a lock with weights')).to.throw(
        TypeError,
        `Expected ${name} to let this client use a lock with weights, got an ACL that does not give write (2) to a client without`,
      );
      expect(() => requireWrite('/a', 'a sticky lock')).to.throw(TypeError, 'a sticky lock');
    }
    const notMine = [...usual, { permissions: permission.all, scheme: 'digest', id: digestId('bob:secret') }];
    expect(() => checkedAcl(notMine, [alice]).requireWrite('/a', 'a sticky lock')).to.throw(
      TypeError,
      'digest "alice"',
    );
    expect(() => checkedAcl([anyone(15)], []).requireWrite('/a', 'a sticky lock')).not.to.throw();
  });

  it('of a function is checked at each call, for the permissions that this client needs on that path', () => {
    const readOnly = [anyone(permission.read)];
    const { aclFor, aclForParents, aclSchemes } = checkedAcl(
      (path) => (path.startsWith('/locks') ? readOnly : [anyone(permission.create)]),
      [],
    );
    expect(aclFor('/locks/a/holder')).to.deep.equal(readOnly);
    expect(() => aclForParents('/locks', '/locks/a')).to.throw(
      TypeError,
      'Expected `acl("/locks")` to let this client use the locks that it creates, got an ACL that does not give create (4) to',
    );
    expect(() => aclForParents('/locks/a', '/locks/a')).to.throw(TypeError, 'does not give create (4), delete (8) to');
    // Above the lock's own znode, the create permission is enough.
    expect(aclForParents('/other', '/other/a')).to.deep.equal([anyone(permission.create)]);
    expect(() => aclForParents('/other', '/other')).to.throw(TypeError, 'does not give read (1), delete (8) to');
    expect([...aclSchemes]).to.have.members(['world']);
    expect(() => checkedAcl(() => creatorOnly, []).aclFor('/a')).to.throw(TypeError, "scheme 'auth'");
  });
});

describe('an ACL for accounts of SASL and of certificates', () => {
  const acl =
    (scheme: string, id: string): (() => unknown) =>
    () =>
      checkedAcl([entry(scheme, id)], [], others);
  let others: OtherIdentities = {};

  beforeEach(() => void (others = {}));

  it('of the scheme sasl needs the user name of the option, which the servers may shorten', () => {
    expect(acl('sasl', 'alice')).to.throw(TypeError, 'to a client without the option `auth`');
    others = { saslUser: 'alice' };
    expect(acl('sasl', 'alice')).not.to.throw();
    expect(acl('sasl', 'bob')).to.throw(TypeError, 'to the account sasl "alice"');
    others = { saslUser: 'alice/host@REALM' };
    expect(acl('sasl', 'alice')).not.to.throw();
  });

  it('of the scheme sasl may have any id for a Kerberos ticket, because the servers make the id', () => {
    others = { saslMechanism: 'GSSAPI' };
    expect(acl('sasl', 'alice')).not.to.throw();
    expect(() => checkedAcl([entry('x509', 'CN=alice')], [], others)).to.throw(
      TypeError,
      'to the account sasl by GSSAPI',
    );
  });

  it('of the scheme x509 needs a certificate', () => {
    expect(acl('x509', 'CN=alice')).to.throw(TypeError, 'does not give');
    others = { mayHaveCertificate: true };
    expect(acl('x509', 'CN=alice')).not.to.throw();
  });

  it('of the scheme auth needs one of them', () => {
    expect(() => checkedAcl('creator-only', [], {})).to.throw(TypeError, "scheme 'auth' stands for");
    for (const own of [{ saslUser: 'alice' }, { saslMechanism: 'GSSAPI' }, { mayHaveCertificate: true }])
      expect(checkedAcl('creator-only', [], own).aclFor('/a')).to.deep.equal(creatorOnly);
  });
});

describe('an account', () => {
  it('is shown by scheme and user, and never by its password', () => {
    expect(accountText([alice])).to.equal('the account digest "alice"');
    expect(accountText([alice, digest('bob:x:y')])).to.equal('the account digest "alice" and digest "bob"');
    expect(accountText([{ scheme: 'custom', credentials: 'who:knows' }])).to.equal('the account custom');
    expect(accountText([])).to.equal('a client without the option `auth`');
  });

  it('of scheme digest has a user and a colon; other schemes have any format that the servers accept', () => {
    expect(
      checkAuth([alice, digest('bob:'), digest('carol:a:b'), { scheme: 'custom', credentials: 'token' }]),
    ).to.have.length(4);
    for (const credentials of ['', 'alice', ':open sesame'])
      expect(() => checkAuth([digest(credentials)])).to.throw(TypeError, /^(?!.*sesame).*'user:password'/);
  });
});
