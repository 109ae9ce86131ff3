import { expect } from 'chai';
import { checkKerberosAccount, type KerberosAccount } from '../../packages/kerberos/src/kerberos-account.ts';

describe('an account of Kerberos', () => {
  it('has the names of the service and of the client, or none', () => {
    for (const names of [
      {},
      { servicePrincipal: 'zookeeper/zk.internal' },
      { servicePrincipal: 'zookeeper/10.0.0.1', principal: 'orders@INTERNAL' },
      { principal: 'orders/host.internal@INTERNAL' },
      { principal: 'orders' },
    ])
      expect(checkKerberosAccount(names)).to.deep.equal(names);
  });

  for (const servicePrincipal of [
    '',
    'zookeeper',
    'zookeeper/',
    '/zk1',
    'zookeeper/zk1/zk2',
    'zookeeper/zk1 ',
    'zookeeper/zk1\0',
    7,
  ])
    it(`is refused with the service principal ${JSON.stringify(servicePrincipal)}`, () => {
      expect(() => checkKerberosAccount({ servicePrincipal } as KerberosAccount)).to.throw(
        TypeError,
        '`servicePrincipal`',
      );
    });

  it('is refused with a realm behind the service principal, which the package `kerberos` would not use', () => {
    const account = { servicePrincipal: 'zookeeper/zk1@INTERNAL' };
    expect(() => checkKerberosAccount(account)).to.throw(TypeError, 'krb5.conf says to which realm the host belongs');
  });

  for (const principal of ['', '@INTERNAL', 'orders@', 'a@b@c', 'two words', 'orders\0', {}])
    it(`is refused with the principal ${JSON.stringify(principal)}`, () => {
      expect(() => checkKerberosAccount({ principal } as KerberosAccount)).to.throw(TypeError, '`principal`');
    });

  it('has no password', () => {
    const account = { username: 'alice', password: 'open sesame' } as KerberosAccount;
    expect(() => checkKerberosAccount(account))
      .to.throw(TypeError, 'Unknown option `username` of kerberos: accepted are servicePrincipal, principal')
      .with.property('message')
      .that.does.not.contain('open sesame');
  });
});
