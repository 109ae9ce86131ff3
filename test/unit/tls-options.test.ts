import type { PeerCertificate } from 'node:tls';
import { expect } from 'chai';
import { checkTls } from '../../src/client/options/tls-options.ts';
import { noLog } from '../../src/client/options/logger.ts';
import { explainTls, TlsError } from '../../src/zookeeper/network/tls-error.ts';

const key = '-----BEGIN PRIVATE KEY-----\nsecret';
const host = { host: 'zk1', port: 2281 };

describe('the option tls', () => {
  it('is true, options, or a function that is asked at each connection', () => {
    expect(checkTls(undefined, noLog)).to.equal(undefined);
    expect(checkTls(true, noLog)).to.include({ mayHaveCertificate: false });
    let asked = 0;
    const checked = checkTls(() => {
      asked += 1;
      return { servername: `zk${asked}` };
    }, noLog);
    expect(asked).to.equal(0);
    expect([checked?.source().servername, checked?.source().servername]).to.deep.equal(['zk1', 'zk2']);
    expect(checked?.mayHaveCertificate).to.equal(true);
  });

  it('is copied, so that later changes have no effect, and parsed once', () => {
    const options = { servername: 'zk1' };
    const checked = checkTls(options, noLog);
    options.servername = 'zk2';
    expect(checked?.source().servername).to.equal('zk1');
    expect(checked?.source().secureContext).to.equal(checked?.source().secureContext).and.not.equal(undefined);
  });

  it('never shows a value in its errors', () => {
    for (const bad of [{ key }, { cert: key, key }, key, { key: 'secret', cert: 'secret' }, { ca: ['secret'] }])
      expect(() => checkTls(bad, noLog))
        .to.throw(TypeError)
        .with.property('message')
        .that.does.not.contain('secret');
  });

  it('does not show a passphrase that is a number', () => {
    const bad = { cert: '-----BEGIN', key, passphrase: 47_114_711 };
    expect(() => checkTls(bad, noLog))
      .to.throw(TypeError, '`tls.passphrase` to be a string, got a value of type number')
      .with.property('message')
      .that.does.not.contain('4711');
  });

  it('is the same without an option that is undefined, whose default would be lost', () => {
    const checked = checkTls(() => ({ servername: undefined, checkServerIdentity: undefined }), noLog);
    expect(checked?.source()).to.deep.equal({});
    expect(() => checkTls({ checkServerIdentity: 'zk1' }, noLog)).to.throw(TypeError, '`tls.checkServerIdentity`');
  });

  it('has a check of the name that refuses the server if it throws', () => {
    const failure = new Error('no such name');
    const checked = checkTls(
      () => ({
        checkServerIdentity: (name: string) => {
          if (name === 'zk1') return undefined;
          throw failure;
        },
      }),
      noLog,
    );
    const check = checked?.source().checkServerIdentity;
    const certificate = {} as PeerCertificate;
    expect(check?.('zk1', certificate)).to.equal(undefined);
    expect(check?.('zk2', certificate)).to.equal(failure);
  });

  it('refuses a text as the answer whether certificates are checked', () => {
    expect(() => checkTls({ rejectUnauthorized: 'false' as never }, noLog)).to.throw(TypeError, 'true or false');
  });

  it('warns once about a certificate that is not checked, and not before it is used', () => {
    const warnings: string[] = [];
    const log = { ...noLog, warn: (text: string) => void warnings.push(text) };
    const checked = checkTls(() => ({ rejectUnauthorized: false }), log);
    expect(warnings).to.deep.equal([]);
    checked?.source();
    checked?.source();
    expect(warnings).to.have.length(1);
  });
});

describe('the error of a failed handshake', () => {
  for (const [code, problem] of [
    ['SELF_SIGNED_CERT_IN_CHAIN', 'unknown-authority'],
    ['CERT_NOT_YET_VALID', 'expired'],
    ['CERT_REVOKED', 'unknown-authority'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'wrong-name'],
    // TLS 1.3, after the client has finished the handshake.
    ['ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED', 'client-certificate'],
    ['ERR_SSL_TLSV1_ALERT_UNKNOWN_CA', 'client-certificate'],
    ['ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE', 'client-certificate'],
    ['ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION', 'protocol'],
    ['ERR_SSL_UNSUPPORTED_PROTOCOL', 'protocol'],
    ['ERR_SSL_WRONG_VERSION_NUMBER', 'not-tls'],
    ['ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR', 'alert'],
  ] as const)
    it(`${code} is the problem ${problem}`, () => {
      const error = explainTls(Object.assign(new Error('x'), { code }), host, false);
      expect(error)
        .to.be.instanceOf(TlsError)
        .and.include({ problem, server: 'zk1:2281', isDefinite: problem !== 'alert' });
      if (problem !== 'wrong-name') expect(String(error)).to.contain(code);
    });

  it('is found in the text of OpenSSL if Node.js gives it no code of its own', () => {
    const error = Object.assign(
      new Error('write EPROTO 80:error:0A000416:SSL routines:sslv3 alert certificate unknown'),
      {
        code: 'EPROTO',
      },
    );
    expect(explainTls(error, host, false)).to.include({ problem: 'client-certificate' });
  });

  it('names the ciphers too if the server only says that the handshake failed', () => {
    const textOf = (code: string): string => String(explainTls(Object.assign(new Error('x'), { code }), host, false));
    expect(textOf('ERR_SSL_SSLV3_ALERT_HANDSHAKE_FAILURE')).to.match(/no common cipher .* check tls\.ciphers/);
    expect(textOf('ERR_SSL_SSLV3_ALERT_BAD_CERTIFICATE')).not.to.contain('cipher');
  });

  it('is a closed connection only in the handshake', () => {
    const reset = Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    expect(explainTls(reset, host, false)).to.include({ problem: 'closed', isDefinite: false });
    expect(explainTls(reset, host, true)).to.equal(reset);
    const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    expect(explainTls(refused, host, false)).to.equal(refused);
  });
});
