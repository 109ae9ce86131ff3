import { expect } from 'chai';
import { answerChallenge, isConfirmed } from '../../src/zookeeper/wire/digest-md5.ts';
import { DigestMd5Handshake } from '../../src/zookeeper/wire/digest-md5-handshake.ts';

const account = { username: 'chris', password: 'secret' };
const challenge = (fields: string): Buffer => Buffer.from(fields);
const usual = 'realm="zk-sasl-md5",nonce="OA6MG9tEQGm2hh",qop="auth",charset=utf-8,algorithm=md5-sess';

describe('the answer to a challenge of DIGEST-MD5', () => {
  // Recorded from a SaslServer and a SaslClient of Java 17.
  for (const [user, password, nonce, clientNonce, response, confirmation] of [
    [
      'chris',
      'secret',
      'EzbQWAOT5+XeJfmCziJ6aKN158Wlrvz5I3oWLDdh',
      'rjHw80bo8NAk8et/fOvvIsURKEBe6iHc1FGATk6r',
      'e5fc4f109f8d96e6c3445f616a2e878c',
      'a5a7bb67a76f0b24aab3071b1ee9c95e',
    ],
    [
      'Ägir',
      'pass€wört',
      'wlYF/B+zBBIh2q93hAT7Iq5QX1aGlAjVlzo4dnOt',
      '95wc+hNdicT5cgpj3npjJwG2rZHbCzKrkD3uecGL',
      '7285c2d45f941e31858cd8d76ce5c9b1',
      '3a9b115ebc704a7b504b8f705389320e',
    ],
  ] as const)
    it(`is the one that Java computes for ${user}, and so is the confirmation`, () => {
      const asked = challenge(`realm="zk-sasl-md5",nonce="${nonce}",charset=utf-8,algorithm=md5-sess`);
      const answer = answerChallenge(asked, { username: user, password }, clientNonce);
      expect(answer.token.toString()).to.equal(
        `charset=utf-8,username="${user}",realm="zk-sasl-md5",nonce="${nonce}",nc=00000001,cnonce="${clientNonce}",digest-uri="zookeeper/zk-sasl-md5",qop=auth,response=${response}`,
      );
      expect(isConfirmed(Buffer.from(`rspauth=${confirmation}`), answer)).to.equal(true);
      expect(isConfirmed(Buffer.from(`rspauth=${'0'.repeat(32)}`), answer)).to.equal(false);
      expect(isConfirmed(Buffer.alloc(0), answer)).to.equal(false);
    });

  it('never contains the password', () => {
    const { token } = answerChallenge(challenge(usual), { username: 'a', password: 'Open-Sesame' }, 'n');
    expect(token.toString()).not.to.contain('Open-Sesame');
  });

  it('quotes a user name that contains quotes', () => {
    const { token } = answerChallenge(challenge(usual), { username: 'a"b\\c', password: 'x' }, 'n');
    expect(token.toString()).to.contain('username="a\\"b\\\\c"');
  });

  it('reads a challenge with white space, upper case and escapes', () => {
    const { token } = answerChallenge(
      challenge(' Realm = "a\\"b" , NONCE="n" ,, Algorithm=MD5-sess,qop="auth-int, auth"'),
      account,
      'c',
    );
    expect(token.toString()).to.contain('realm="a\\"b",nonce="n"').and.not.to.contain('charset');
  });

  for (const [fault, fields, message] of [
    ['nothing', '', 'not one of DIGEST-MD5'],
    ['no nonce', 'algorithm=md5-sess', 'not one of DIGEST-MD5'],
    ['another algorithm', 'nonce="n",algorithm=md5', 'not one of DIGEST-MD5'],
    ['only encryption', 'nonce="n",algorithm=md5-sess,qop="auth-conf"', 'only "auth" is supported'],
    ['5000 bytes', `nonce="${'n'.repeat(5_000)}"`, 'too long'],
  ] as const)
    it(`is refused for a challenge with ${fault}`, () => {
      expect(() => answerChallenge(challenge(fields), account, 'c')).to.throw(RangeError, message);
    });

  it('is refused for a user name that the server cannot read', () => {
    const old = challenge('nonce="n",algorithm=md5-sess');
    expect(() => answerChallenge(old, { username: 'Ω', password: 'x' }, 'c')).to.throw(RangeError, 'ISO 8859-1');
    expect(answerChallenge(old, { username: 'ä', password: 'ü' }, 'c').token).to.be.instanceOf(Buffer);
  });
});

describe('the handshake of DIGEST-MD5', () => {
  it('is refused by an empty message, and by a server that does not know the password', () => {
    const handshake = new DigestMd5Handshake({ ...account, uuid: () => 'c' });
    const refusal = (token: Buffer): unknown => {
      try {
        return handshake.next(token);
      } catch (error) {
        return error;
      }
    };
    expect(handshake.begin()).to.have.length(0);
    expect(refusal(Buffer.alloc(0))).to.have.property('why', 'no-sasl');
    expect(refusal(challenge(usual))).to.be.instanceOf(Buffer);
    expect(refusal(Buffer.alloc(0))).to.have.property('why', 'account');
    expect(refusal(Buffer.from(`rspauth=${'0'.repeat(32)}`))).to.have.property('why', 'server');
  });
});
