import { expect } from 'chai';
import type { Acquire } from '../../lab/judge/folded-history.ts';
import { parseHistory } from '../../chaos/read-history.ts';
import { calm } from '../lab/judge/support/script.ts';

function acquireOf(text: string, id: string): Acquire {
  const found = parseHistory(text).acquires.find((acquire) => acquire.id === id);
  if (found === undefined) throw new Error(`no acquire ${id}`);
  return found;
}

describe('a history from a file', () => {
  it('is ordered by time, whatever the order of its lines; equal times keep the order of their lines', () => {
    const { events } = parseHistory(calm().text);
    expect(events.map(({ t }) => t)).to.deep.equal(events.map(({ t }) => t).sort((a, b) => a - b));
    expect(events.filter(({ t }) => t === 50).map(({ type }) => type)).to.deep.equal(['releasing', 'released']);
  });

  it('contains the outcome of an acquire', () => {
    const { calledAt, granted, observations, releasingAt, released, lost, refused, incarnation } = acquireOf(
      calm().text,
      'c2-first',
    );
    expect({ calledAt, granted, releasingAt, released, lost, refused }).to.deep.equal({
      calledAt: 11,
      granted: { t: 40, hold: '/a/lock-2', token: 2n, valid: true },
      releasingAt: 50,
      released: { t: 50, outcome: 'released' },
      lost: undefined,
      refused: undefined,
    });
    expect(observations.map(({ t }) => t)).to.deep.equal([40, 45, 45, 50]);
    expect(incarnation).to.include({ client: 'c2', number: 1, startedAt: 1, leftAt: 60_000, killedAt: undefined });
  });

  it('contains the beginning and the end of a fault, and the processes that it killed', () => {
    const { faults, incarnations } = calm()
      .fault('kill-client', 'c1', 70, 80)
      .say(90, { type: 'started', client: 'c1', incarnation: 2 }).history;
    expect(faults).to.deep.include({
      fault: faults[0]?.fault,
      kind: 'kill-client',
      target: 'c1',
      clients: ['c1'],
      isStopped: false,
      beganAt: 70,
      healedAt: 80,
    });
    expect(
      incarnations.map(({ client, number, killedAt, succeededAt }) => ({ client, number, killedAt, succeededAt })),
    ).to.deep.equal([
      { client: 'c1', number: 1, killedAt: 70, succeededAt: 90 },
      { client: 'c2', number: 1, killedAt: undefined, succeededAt: undefined },
      { client: 'c1', number: 2, killedAt: undefined, succeededAt: undefined },
    ]);
  });

  it('contains the first fault that killed a process, even if the next process had no time to start', () => {
    expect(
      calm().fault('kill-client', 'c1', 70, 80).fault('kill-client', 'c1', 90, 95).history.incarnations[0]?.killedAt,
    ).to.equal(70);
  });

  it('may have empty lines', () =>
    expect(parseHistory(`\n${calm().text}\n\n`).events).to.have.length(calm().history.events.length));

  const wrong: readonly (readonly [string, string, string])[] = [
    ['is no JSON', '{"t":1', 'line 2: Expected a JSON object, got {"t":1'],
    ['is no object', '[1]', 'line 2: Expected a JSON object, got [1]'],
    ['has no type', '{"t":1}', 'line 2: Expected `type` to be one of run, call, granted'],
    ['has an unknown type', '{"t":1,"type":"toString"}', 'got "toString"'],
    [
      'has no time',
      '{"type":"left","client":"c1"}',
      'line 2: Expected `t` of `left` to be a finite number, got nothing',
    ],
    [
      'lacks a field',
      '{"t":1,"type":"look","client":"c1","id":"x"}',
      'line 2: Expected `valid` of `look` to be true or false, got nothing',
    ],
    [
      'has a token that is a number',
      '{"t":1,"type":"register","path":"/a","write":"w","token":5,"accepted":true,"largest":"5"}',
      'Expected `token` of `register` to be a string of decimal digits, got 5',
    ],
    [
      'has an unknown word',
      '{"t":1,"type":"released","client":"c1","id":"x","outcome":"gone"}',
      'Expected `outcome` of `released` to be one of released, lost, got "gone"',
    ],
    [
      'has an unknown role',
      '{"t":1,"type":"call","client":"c1","id":"x","path":"/a","kind":"plain","flow":"x","role":"boss"}',
      'Expected `role` of `call` to be one of owner, writer, reader, lease or absent, got "boss"',
    ],
    [
      'has leases that are not numbers',
      '{"t":1,"type":"run","seed":1,"minutes":1,"sessionTimeoutMs":1,"paths":[],"clients":[],"leases":{"/a":"3"}}',
      'Expected `leases` of `run` to be an object, each value a finite number or absent',
    ],
    [
      'has a list of something else',
      '{"t":1,"type":"fault","fault":"f","kind":"k","target":"t","clients":[1],"isStopped":false}',
      'Expected `clients` of `fault` to be a list, each a string, got [1]',
    ],
    [
      'has an odd optional field',
      '{"t":1,"type":"call","client":"c1","id":"x","path":"/a","kind":"plain","flow":"x","timeoutMs":"5"}',
      'to be a finite number or absent, got "5"',
    ],
    [
      'has an odd weight',
      '{"t":1,"type":"call","client":"c1","id":"x","path":"/a","kind":"plain","flow":"x","weight":"5"}',
      'to be a finite number or absent, got "5"',
    ],
    [
      'has an odd record',
      '{"t":1,"type":"end","left":{"/a":"x"},"watches":0,"emptyAfterMs":{}}',
      'to be an object, each value a list, each a string',
    ],
    [
      'is about an unknown acquire',
      '{"t":1,"type":"look","client":"c1","id":"x","valid":true}',
      'Expected to know x before {"t":1,"type":"look"',
    ],
    ['is about an unknown process', '{"t":1,"type":"left","client":"c9"}', 'Expected to know c9 before'],
    ['heals an unknown fault', '{"t":1,"type":"healed","fault":"f9"}', 'Expected to know f9 before'],
  ];
  for (const [what, line, message] of wrong)
    it(`is refused when a line ${what}`, () => {
      const [run = ''] = calm().text.split('\n');
      expect(() => parseHistory(`${run}\n${line}\n`)).to.throw(message);
    });

  it('is refused when it does not begin with the run, or has two', () => {
    const [run = '', ...others] = calm().text.split('\n');
    expect(() => parseHistory(others.join('\n'))).to.throw('Expected a history to begin with `run`');
    expect(() => parseHistory(`${run}\n${run}\n`)).to.throw('Expected one `run`');
    expect(() => parseHistory('')).to.throw('Expected a history to begin with `run`');
  });

  it('is refused when an acquire is called or settles twice', () => {
    const call = { type: 'call', path: '/a', kind: 'plain', flow: 'x' } as const;
    expect(() => calm().own('c1', 'x', 100, call).own('c1', 'x', 101, call).history).to.throw('Expected one call of x');
    const refused = { type: 'refused', outcome: 'none' } as const;
    expect(() => calm().own('c1', 'c1-first', 100, refused).history).to.throw('Expected c1-first to settle once');
    const granted = { type: 'granted', path: '/a', hold: 'h', token: '9', valid: true } as const;
    expect(() => calm().own('c1', 'c1-first', 100, granted).history).to.throw('Expected c1-first to settle once');
  });
});
