import { expect } from 'chai';
import { calm, findingsOf, type Script } from '../lab/judge/support/script.ts';

/** c1 holds the lock from 1,000 on with token 10. */
function open(): Script {
  return calm().hold('c1', 'x', { call: 990, granted: 1_000, token: 10 });
}

function withNext(script: Script): Script {
  return script.hold('c2', 'y', { call: 995, granted: 6_000, until: 8_000, token: 11 }); // writes at 7,000
}

describe('a write in a history', () => {
  it('is accepted from a hold that was valid before and after', () => {
    expect(
      open().write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110 }).release('c1', 'x', 1_200).findings,
    ).to.deep.equal([]);
  });

  it('must not be accepted from a hold that was not valid when it was sent', () => {
    const script = open()
      .fault('silent-link', 'c1', 900, 2_000)
      .write('c1', 'x', 'w', { token: 10, sent: 1_100, valid: false, done: 1_110, after: false });
    expect(script.lose('c1', 'x', 1_120).findings).to.deep.equal(['register']);
  });

  it('may be refused from a hold that was not valid when it was sent', () => {
    const script = withNext(open().fault('stop-client', 'c1', 1_010, 8_000)).write('c1', 'x', 'w', {
      token: 10,
      sent: 8_100,
      valid: false,
      done: 8_110,
      accepted: false,
      after: false,
    });
    expect(script.lose('c1', 'x', 8_120).findings).to.deep.equal([]);
  });

  it('must not be accepted after a larger token was accepted', () => {
    const script = withNext(open().fault('stop-client', 'c1', 1_150, 8_000)).write('c1', 'x', 'w', {
      token: 10,
      sent: 1_100,
      done: 8_110,
      after: false,
    });
    expect(script.lose('c1', 'x', 8_120).findings).to.deep.equal(['register']);
  });

  it('may be accepted late, as long as the next holder has not written', () => {
    const script = withNext(open().fault('stop-client', 'c1', 1_150, 6_500)).write('c1', 'x', 'w', {
      token: 10,
      sent: 1_100,
      done: 6_600,
      after: false,
    });
    expect(script.lose('c1', 'x', 6_610).findings).to.deep.equal([]);
  });

  it('must not find its hold valid after the next grant', () => {
    const script = withNext(open().fault('stop-client', 'c1', 1_150, 6_500)).write('c1', 'x', 'w', {
      token: 10,
      sent: 1_100,
      done: 6_600,
    });
    expect(script.lose('c1', 'x', 6_610).findings).to.deep.equal(['overlaps', 'register']);
  });

  it('may find its hold valid after the next grant if a third party had just deleted the znode', () => {
    const script = withNext(open().fault('delete-znode', '/a/lock-10', 5_990, 5_995)).write('c1', 'x', 'w', {
      token: 10,
      sent: 6_010,
      done: 6_020,
    });
    expect(script.lose('c1', 'x', 6_050, 'node-deleted').findings).to.deep.equal([]);
  });

  it('must not be refused if its token is the largest so far', () => {
    expect(
      open().write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110, accepted: false }).release('c1', 'x', 1_200)
        .findings,
    ).to.deep.equal(['register']);
    const lost = open()
      .fault('silent-link', 'c1', 900, 2_000)
      .write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110, accepted: false, after: false });
    expect(lost.lose('c1', 'x', 1_120).findings).to.deep.equal(['register']);
  });

  it('must not be refused while its hold is valid, even if the register has seen a larger token', () => {
    // The history does not contain the owner of this token.
    const script = open().say(1_050, {
      type: 'register',
      path: '/a',
      write: 'unknown',
      token: '12',
      accepted: true,
      largest: '12',
    });
    expect(
      script.write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110, accepted: false }).release('c1', 'x', 1_200)
        .findings,
    ).to.deep.equal(['register']);
  });

  it('is rightly refused if the register has received a larger token and its hold is lost meanwhile', () => {
    const script = open()
      .fault('stop-client', 'c1', 1_150, 8_000)
      .write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 8_110, accepted: false, after: false });
    expect(withNext(script).lose('c1', 'x', 8_120).findings).to.deep.equal([]);
  });

  it('is rightly refused if the register has received a larger token and its answer finds the hold lost', () => {
    const script = open()
      .fault('silent-link', 'c1', 900, 2_000)
      .say(1_050, { type: 'register', path: '/a', write: 'unknown', token: '12', accepted: true, largest: '12' });
    expect(
      script
        .write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110, accepted: false, after: false })
        .lose('c1', 'x', 1_120).findings,
    ).to.deep.equal([]);
  });

  it('must carry the token of its hold', () => {
    expect(
      open().write('c1', 'x', 'w', { token: 12, sent: 1_100, done: 1_110 }).release('c1', 'x', 1_200).findings,
    ).to.deep.equal(['register']);
  });

  it('must be answered as the register recorded it', () => {
    const script = open().write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110 }).release('c1', 'x', 1_200);
    const answers = script.text.replace('"write":"w","accepted":true,"valid"', '"write":"w","accepted":false,"valid"');
    expect(answers).not.to.equal(script.text);
    expect(findingsOf(answers)).to.deep.equal(['register']);
  });

  it('must be sent by a holder of the lock', () => {
    const script = calm()
      .own('c1', 'x', 1_000, { type: 'call', path: '/a', kind: 'try', flow: 'x' })
      .own('c1', 'x', 1_010, { type: 'refused', outcome: 'none' });
    expect(
      script.write('c1', 'x', 'w', { token: 10, sent: 1_100, valid: false, done: 1_110, accepted: true, after: false })
        .findings,
    ).to.deep.equal(['register']);
  });

  it('may be missing in the events of a killed client', () => {
    expect(
      calm().say(1_000, { type: 'register', path: '/a', write: 'unknown', token: '9', accepted: true, largest: '9' })
        .findings,
    ).to.deep.equal([]);
  });

  it('is checked for each path separately', () => {
    const script = open().write('c1', 'x', 'w', { token: 10, sent: 1_100, done: 1_110 }).release('c1', 'x', 1_200);
    expect(
      script.hold('c2', 'y', { path: '/b', call: 1_300, granted: 1_400, until: 1_500, token: 9 }).findings,
    ).to.deep.equal([]);
  });
});
