import { expect } from 'chai';
import { checkSasl } from '../../src/client/sasl-options.ts';

describe('the option sasl', () => {
  it('is an account of DIGEST-MD5', () => {
    expect(checkSasl(undefined)).to.equal(undefined);
    const sasl = { mechanism: 'DIGEST-MD5', username: 'alice', password: 'open sesame' };
    expect(checkSasl(sasl)).to.deep.equal(sasl);
  });

  it('never shows the password in its errors', () => {
    const password = 'open sesame';
    for (const bad of [
      password,
      { password },
      { mechanism: 'DIGEST-MD5', password },
      { mechanism: 'SCRAM', username: 'alice', password },
      { mechanism: 'DIGEST-MD5', username: 'alice', password: Buffer.from(password) },
      { mechanism: 'DIGEST-MD5', username: 'alice', password, realm: 'x' },
      { mechanism: 'GSSAPI', username: 'alice', password },
    ])
      expect(() => checkSasl(bad))
        .to.throw(TypeError)
        .with.property('message')
        .that.contains('`sasl')
        .and.does.not.contain(password);
  });

  it('is a login by Kerberos, with the names of the service and of the client or without', () => {
    for (const names of [
      {},
      { servicePrincipal: 'zookeeper/zk.internal' },
      { servicePrincipal: 'zookeeper/10.0.0.1', principal: 'orders@INTERNAL' },
      { principal: 'orders/host.internal@INTERNAL' },
      { principal: 'orders' },
    ])
      expect(checkSasl({ mechanism: 'GSSAPI', ...names })).to.include({ mechanism: 'GSSAPI', ...names });
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
      expect(() => checkSasl({ mechanism: 'GSSAPI', servicePrincipal })).to.throw(TypeError, '`sasl.servicePrincipal`');
    });

  it('is refused with a realm behind the service principal, which the package `kerberos` would not use', () => {
    const sasl = { mechanism: 'GSSAPI', servicePrincipal: 'zookeeper/zk1@INTERNAL' };
    expect(() => checkSasl(sasl)).to.throw(TypeError, 'krb5.conf says to which realm the host belongs');
  });

  for (const principal of ['', '@INTERNAL', 'orders@', 'a@b@c', 'two words', 'orders\0', {}])
    it(`is refused with the principal ${JSON.stringify(principal)}`, () => {
      expect(() => checkSasl({ mechanism: 'GSSAPI', principal })).to.throw(TypeError, '`sasl.principal`');
    });
});
