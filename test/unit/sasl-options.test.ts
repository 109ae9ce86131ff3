import { expect } from 'chai';
import { checkSasl } from '../../src/client/options/sasl-options.ts';

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

  it('is a mechanism of another package, whose method is called on its object', () => {
    const made = { begin: () => Buffer.alloc(0), next: () => undefined };
    const sasl = {
      mechanism: 'GSSAPI',
      made,
      handshake(): object {
        return this.made;
      },
    };
    const checked = checkSasl(sasl);
    if (!checked || !('handshake' in checked)) throw new Error('It was taken for an account');
    expect(checked.handshake({} as never)).to.equal(made);
    expect(checked.mechanism).to.equal('GSSAPI');
    const { handshake } = sasl;
    expect(() => checkSasl({ handshake })).to.throw(TypeError, 'Expected `sasl` to be');
  });

  it('is refused with a mechanism that only another package has, and the text names the package', () => {
    for (const sasl of [{ mechanism: 'GSSAPI' }, Promise.resolve({ mechanism: 'GSSAPI' })])
      expect(() => checkSasl(sasl)).to.throw(
        TypeError,
        '`await kerberos()` of the package @zookeeper-fair-lock/kerberos',
      );
  });
});
