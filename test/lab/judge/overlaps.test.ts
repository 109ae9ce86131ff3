import { expect } from 'chai';
import { calm, sessionTimeoutMs, type Script } from './support/script.ts';

/** c1 holds the lock from 1,000 on; c2 is granted the lock at 3,000. */
function open(): Script {
  return calm().hold('c1', 'x', { call: 990, granted: 1_000, token: 10 });
}

function withNext(script: Script, granted = 3_000): Script {
  return script.hold('c2', 'y', { call: 995, granted, until: granted + 3_000, token: 11 });
}

describe('holds in a history', () => {
  it('may follow each other without a gap', () => {
    expect(withNext(open().release('c1', 'x', 3_000)).findings).to.deep.equal([]);
  });

  it('overlap if the next is granted before the release', () => {
    expect(withNext(open().release('c1', 'x', 3_001)).findings).to.deep.equal(['overlaps']);
  });

  it('overlap if the next is granted before the holder learns of its loss, even for a short time', () => {
    const told = (t: number): string[] =>
      withNext(open().fault('silent-link', 'c1', 900, 5_000).lose('c1', 'x', t)).findings;
    expect(told(3_000.1)).to.deep.equal(['overlaps']);
    expect(told(2_999.9)).to.deep.equal([]);
  });

  it('overlap if one is granted and released during another', () => {
    const script = open().release('c1', 'x', 9_000);
    expect(script.hold('c2', 'y', { call: 995, granted: 2_000, until: 3_000, token: 11 }).findings).to.deep.equal([
      'overlaps',
    ]);
  });

  it('of a running owner end with the first look that finds them invalid', () => {
    const script = open().fault('silent-link', 'c1', 900, 5_000).look('c1', 'x', 2_000, false).lose('c1', 'x', 4_000);
    expect(withNext(script).findings).to.deep.equal([]);
  });

  it('of two paths never overlap', () => {
    const script = calm().hold('c1', 'x', { call: 990, granted: 1_000, until: 9_000, token: 10 });
    expect(
      script.hold('c2', 'y', { path: '/b', call: 995, granted: 2_000, until: 3_000, token: 11 }).findings,
    ).to.deep.equal([]);
  });

  it('of one flow count as one, until the last of them is released', () => {
    const twice = (until: number): Script =>
      calm()
        .hold('c1', 'x', { call: 990, granted: 1_000, until: 2_000, token: 10 })
        .hold('c1', 'x2', { call: 1_100, granted: 1_100, until, token: 10, flow: 'x', kind: 're-entrant' });
    expect(withNext(twice(2_900)).findings).to.deep.equal([]);
    expect(withNext(twice(3_100)).findings).to.deep.equal(['overlaps']);
  });

  it('of one flow have one owner, also with two znodes', () => {
    const script = calm().hold('c1', 'x', { call: 990, granted: 1_000, until: 4_000, token: 10 }); // writes at 2,500
    expect(
      script.hold('c1', 'x2', { call: 2_300, granted: 2_400, until: 2_800, token: 11, flow: 'x' }).findings,
    ).to.deep.equal([]);
  });

  it('that are already invalid when their code receives them claim nothing, and should not have been granted', () => {
    const script = open()
      .fault('stop-client', 'c1', 900, 2_900)
      .without((event) => event.type === 'granted' && event.id === 'x');
    script.own('c1', 'x', 3_500, { type: 'granted', path: '/a', hold: '/a/lock-10', token: '10', valid: false });
    expect(withNext(script.lose('c1', 'x', 3_501)).findings).to.deep.equal(['granted-invalid']);
  });

  it('of one znode and two flows are a foreign re-entry', () => {
    const script = calm().hold('c1', 'x', { call: 990, granted: 1_000, until: 2_000, token: 10 });
    expect(script.hold('c1', 'y', { call: 1_100, granted: 1_200, until: 1_900, token: 10 }).findings).to.deep.equal([
      'foreign-reentry',
    ]);
  });

  it('must not become valid again', () => {
    const script = open()
      .fault('silent-link', 'c1', 900, 5_000)
      .look('c1', 'x', 1_100, false)
      .look('c1', 'x', 1_200, true)
      .lose('c1', 'x', 1_300);
    expect(script.findings).to.deep.equal(['valid-after-lost']);
    const afterLoss = open().fault('silent-link', 'c1', 900, 5_000).look('c1', 'x', 1_250, true).lose('c1', 'x', 1_200);
    expect(afterLoss.without((event) => event.type === 'releasing' && event.id === 'x').findings).to.deep.equal([
      'valid-after-lost',
    ]);
  });
});

describe('a stopped holder', () => {
  const stopped = (): Script => open().look('c1', 'x', 1_100, true).fault('stop-client', 'c1', 1_200, 7_000);

  it('is excused until its first look, if that finds the hold invalid', () => {
    expect(withNext(stopped().look('c1', 'x', 7_001, false).lose('c1', 'x', 7_002)).findings).to.deep.equal([]);
  });

  it('is excused when it learns of the loss by its signal', () => {
    expect(withNext(stopped().lose('c1', 'x', 7_001)).findings).to.deep.equal([]);
  });

  it('is not excused if its first look finds the hold valid', () => {
    expect(withNext(stopped().look('c1', 'x', 7_001, true).lose('c1', 'x', 7_002)).findings).to.deep.equal([
      'overlaps',
    ]);
  });

  it('is not excused for its actions before the stop', () => {
    expect(withNext(stopped().lose('c1', 'x', 7_001), 1_150).findings).to.deep.equal(['overlaps']);
  });

  it('is not excused once it runs again and has looked', () => {
    const script = open().fault('stop-client', 'c1', 1_200, 1_300).look('c1', 'x', 1_400, true).lose('c1', 'x', 3_500);
    expect(withNext(script).findings).to.deep.equal(['overlaps']);
  });

  it('is not excused by the stop of another client', () => {
    const script = open()
      .fault('stop-client', 'c2', 1_200, 2_900)
      .fault('silent-link', 'c1', 1_200, 2_900)
      .lose('c1', 'x', 3_500);
    expect(withNext(script).findings).to.deep.equal(['overlaps']);
  });
});

describe('a killed holder', () => {
  it('claims nothing after its death', () => {
    const script = open()
      .fault('kill-client', 'c1', 1_200, 5_000)
      .say(5_100, { type: 'started', client: 'c1', incarnation: 2 });
    expect(withNext(script).findings).to.deep.equal([]);
  });

  it('claims the lock until its death, and for as long as it was seen to be valid', () => {
    const killed = (t: number): Script =>
      open().fault('kill-client', 'c1', t, 5_000).say(5_100, { type: 'started', client: 'c1', incarnation: 2 });
    expect(withNext(killed(3_100)).findings).to.deep.equal(['overlaps']);
    expect(withNext(killed(2_999).look('c1', 'x', 3_001, true)).findings).to.deep.equal(['overlaps']);
  });
});

describe('two owners that are granted the lock in one moment', () => {
  const second = (releasedAt: number): Script =>
    calm()
      .hold('c1', 'x', { call: 990, granted: 1_000, until: 1_500, token: 10 })
      .hold('c2', 'y', { call: 995, granted: 1_000, until: releasedAt, token: 11 });

  it('had it one after the other if one of them released it in that moment', () => {
    expect(second(1_000).findings).not.to.include('overlaps');
    expect(second(1_001).findings).to.include('overlaps');
  });
});

describe('a holder whose znode a third party deletes', () => {
  const robbed = (toldAt: number): Script =>
    open().fault('delete-znode', '/a/lock-10', 2_990, 2_995, ['c1', 'c2']).lose('c1', 'x', toldAt, 'node-deleted');

  it('is excused until it learns of the deletion', () => {
    expect(withNext(robbed(3_050)).findings).to.deep.equal([]);
  });

  it('is not excused for longer than two session timeouts', () => {
    const late = 2_990 + 2 * sessionTimeoutMs + 1;
    const script = robbed(late).hold('c2', 'y', { call: 995, granted: 3_000, until: 3_010, token: 11 });
    expect(script.findings).to.deep.equal(['overlaps']);
  });

  it('is not excused for events before the deletion', () => {
    expect(withNext(robbed(3_050), 2_980).findings).to.deep.equal(['overlaps']);
  });

  it('is not excused by the deletion of another znode', () => {
    const script = open()
      .fault('delete-znode', '/a/lock-9', 2_990, 2_995, ['c1', 'c2'])
      .fault('silent-link', 'c1', 2_990, 2_995)
      .lose('c1', 'x', 3_050);
    expect(withNext(script).findings).to.deep.equal(['overlaps']);
  });

  it('is also excused if its session is closed', () => {
    const closed = (client: string): Script =>
      open()
        .fault('close-session', client, 2_990, 2_995)
        .fault('silent-link', 'c1', 2_990, 2_995)
        .lose('c1', 'x', 3_050, 'session-expired');
    expect(withNext(closed('c1')).findings).to.deep.equal([]);
    expect(withNext(closed('c2')).findings).to.deep.equal(['overlaps']);
  });

  it('is excused by the close of its own session only, if its session is known', () => {
    const closed = (session: string): Script =>
      calm()
        .fault('close-session', '0x1', 900, 905, ['c1'])
        .fault('silent-link', 'c1', 900, 5_000)
        .own('c1', 'x', 990, { type: 'call', path: '/a', kind: 'plain', flow: 'x' })
        .own('c1', 'x', 1_000, { type: 'granted', path: '/a', hold: '/a/lock-10', token: '10', valid: true, session })
        .lose('c1', 'x', 3_050, 'session-expired');
    expect(withNext(closed('0x1')).findings).to.deep.equal([]);
    expect(withNext(closed('0x2')).findings).to.deep.equal(['overlaps']);
  });

  it('is excused although an earlier request to close its session failed', () => {
    const script = calm()
      .fault('close-session', '0x1', 900, 905, ['c1'])
      .own('c1', 'x', 15_990, { type: 'call', path: '/a', kind: 'plain', flow: 'x' })
      .own('c1', 'x', 16_000, {
        type: 'granted',
        path: '/a',
        hold: '/a/lock-10',
        token: '10',
        valid: true,
        session: '0x1',
      })
      .fault('delete-znode', '/a/lock-10', 16_500, 16_505, ['c1', 'c2'])
      .lose('c1', 'x', 16_550, 'node-deleted')
      .hold('c2', 'y', { call: 15_995, granted: 16_510, until: 16_600, token: 11 });
    expect(script.findings).to.deep.equal([]);
  });

  it('is not excused in a session that began after the one that was closed', () => {
    const script = calm()
      .fault('close-session', 'c1', 900, 950)
      .hold('c1', 'x', { call: 990, granted: 1_000, token: 10 })
      .lose('c1', 'x', 3_050, 'session-expired');
    expect(withNext(script).findings).to.deep.equal(['overlaps']);
  });
});
