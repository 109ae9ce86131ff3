import { expect } from 'chai';
import type { CallKind } from '../../lab/judge/history.ts';
import { pairsInOrder } from '../../chaos/checks/order.ts';
import { calm, Script } from '../lab/judge/support/script.ts';

/** c1 calls for x first, but y is granted first. Their znodes were created in the order of the grants. */
function swapped(kind: CallKind = 'plain', flow = 'x'): Script {
  return calm()
    .hold('c1', 'y', { call: 1_001, granted: 1_100, until: 1_200, token: 10, flow: 'y' })
    .hold('c1', 'x', { call: 1_000, granted: 1_300, until: 1_400, token: 11, kind, flow });
}

describe('calls of one process in a history', () => {
  it('are granted in call order', () => {
    const script = calm()
      .hold('c1', 'x', { call: 1_000, granted: 1_100, until: 1_200, token: 10 })
      .hold('c1', 'y', { call: 1_001, granted: 1_300, until: 1_400, token: 11 });
    expect(script.findings).to.deep.equal([]);
    expect(pairsInOrder(script.history).map((pair) => pair.map(({ id }) => id))).to.deep.equal([['x', 'y']]);
  });

  for (const kind of ['plain', 'long', 'timed', 'aborted', 're-entrant', 'handler'] as const)
    it(`must not overtake one that is ${kind}`, () => expect(swapped(kind).findings).to.deep.equal(['order']));

  it('may overtake a tryAcquire', () => expect(swapped('try').findings).to.deep.equal([]));

  it('must not be overtaken by a tryAcquire of a semaphore, which itself may be overtaken', () => {
    const trying = (first: CallKind, second: CallKind): readonly string[] =>
      calm({ '/a': 1 })
        .hold('c1', 'y', { call: 1_001, granted: 1_100, until: 1_200, token: 10, flow: 'y', kind: second })
        .hold('c1', 'x', { call: 1_000, granted: 1_300, until: 1_400, token: 11, kind: first }).findings;
    expect(trying('plain', 'try')).to.deep.equal(['order']);
    expect(trying('try', 'plain')).to.deep.equal([]);
  });

  it('of two processes are not compared', () => {
    const script = calm()
      .hold('c2', 'y', { call: 1_001, granted: 1_100, until: 1_200, token: 10 })
      .hold('c1', 'x', { call: 1_000, granted: 1_300, until: 1_400, token: 11 });
    expect(script.findings).to.deep.equal([]);
  });

  it('for two paths are not compared', () => {
    const script = calm()
      .hold('c1', 'y', { path: '/b', call: 1_001, granted: 1_100, until: 1_200, token: 10 })
      .hold('c1', 'x', { call: 1_000, granted: 1_300, until: 1_400, token: 11 });
    expect(script.findings).to.deep.equal([]);
  });

  it('may be granted in another order if the session or its connection changes', () => {
    expect(swapped().say(1_050, { type: 'session', client: 'c1', sessionId: '0x2' }).findings).to.deep.equal([]);
    expect(swapped().say(1_050, { type: 'state', client: 'c1', state: 'reconnected' }).findings).to.deep.equal([]);
  });

  it('must keep their order if another session changes, or at another time', () => {
    expect(swapped().say(1_050, { type: 'session', client: 'c2', sessionId: '0x2' }).findings).to.deep.equal(['order']);
    expect(swapped().say(999, { type: 'session', client: 'c1', sessionId: '0x2' }).findings).to.deep.equal(['order']);
    expect(swapped().say(1_301, { type: 'session', client: 'c1', sessionId: '0x2' }).findings).to.deep.equal(['order']);
  });

  it('may be granted in another order if their session loses a hold', () => {
    const script = swapped()
      .hold('c1', 'z', { path: '/b', call: 900, granted: 910, token: 9 })
      .fault('close-session', 'c1', 1_040, 1_045);
    expect(script.lose('c1', 'z', 1_050).findings).to.deep.equal([]);
  });

  it('may be granted in another order if a znode of the path is deleted, because its call starts over at the end', () => {
    expect(swapped().fault('delete-znode', '/a/lock-7', 1_050, 1_051, ['c1', 'c2']).findings).to.deep.equal([]);
    expect(swapped().fault('delete-znode', '/b/lock-7', 1_050, 1_051, ['c1', 'c2']).findings).to.deep.equal(['order']);
  });

  it('may be granted in another order while one waits for another acquire of its flow', () => {
    const waiting = swapped('re-entrant', 'f').own('c1', 'w', 990, {
      type: 'call',
      path: '/a',
      kind: 're-entrant',
      flow: 'f',
    });
    expect(waiting.own('c1', 'w', 1_050, { type: 'refused', outcome: 'aborted' }).findings).to.deep.equal([]);
    const over = swapped('re-entrant', 'f').own('c1', 'w', 990, {
      type: 'call',
      path: '/a',
      kind: 're-entrant',
      flow: 'f',
    });
    expect(over.own('c1', 'w', 995, { type: 'refused', outcome: 'aborted' }).findings).to.deep.equal(['order']);
  });

  it('are compared with all waiters, not with their neighbours only', () => {
    const script = calm()
      .hold('c1', 'x', { call: 1_000, granted: 1_500, until: 1_510, token: 13 })
      .own('c1', 'timed', 1_001, { type: 'call', path: '/a', kind: 'timed', flow: 'timed', timeoutMs: 10 })
      .own('c1', 'timed', 1_011, { type: 'refused', outcome: 'none' })
      .hold('c1', 'try', { call: 1_002, granted: 1_600, until: 1_610, token: 14, kind: 'try' })
      .hold('c1', 'y', { call: 1_003, granted: 1_400, until: 1_410, token: 12 });
    expect(script.findings).to.deep.equal(['order']);
  });

  it('may be granted in another order before the first grant on their path, because one of them may have to create the path', () => {
    const first = (granted: number): Script =>
      new Script()
        .hold('c2', 'c2-first', { call: 5, granted, until: granted + 1, token: 1 })
        .hold('c1', 'y', { call: 101, granted: 200, until: 210, token: 2 })
        .hold('c1', 'x', { call: 100, granted: 300, until: 310, token: 3 })
        .hold('c1', 'other', { path: '/b', call: 100, granted: 300, until: 310, token: 4 })
        .end(60_000);
    expect(first(100).findings).to.deep.equal(['order']);
    expect(first(100.5).findings).to.deep.equal([]);
  });

  it('may be granted in another order after the servers have removed their path, whose numbers begin anew', () => {
    const after = (number: number, grant = ''): Script =>
      calm()
        .hold('c2', 'before', { call: 900, granted: 910, until: 920, token: 9, znode: '/a/lock-70' })
        .hold('c1', 'y', { call: 1_001, granted: 1_100, until: 1_200, token: 10, znode: `/a/lock-${number}${grant}` })
        .hold('c1', 'x', { call: 1_000, granted: 1_300, until: 1_400, token: 11, znode: `/a/lock-${number + 1}` });
    expect(after(71).findings).to.deep.equal(['order']);
    expect(after(71, '#1').findings).to.deep.equal(['order']);
    expect(after(20).findings).to.deep.equal([]);
  });
});
