import { expect } from 'chai';
import { tokens } from '../../../lab/judge/tokens.ts';
import { calm, findingsOf, type Script } from './support/script.ts';

/** Without writes, because the register has its own check. */
function granted(
  script: Script,
  client: string,
  id: string,
  at: number,
  token: number,
  znode?: string,
  flow = id,
): Script {
  return script
    .hold(client, id, { call: at, granted: at + 1, token, flow, ...(znode === undefined ? {} : { znode }) })
    .release(client, id, at + 2);
}

describe('tokens in a history', () => {
  it('grow with every grant', () => {
    expect(granted(granted(calm(), 'c1', 'x', 1_000, 10), 'c2', 'y', 2_000, 11).findings).to.deep.equal([]);
  });

  it('must not decrease', () => {
    expect(granted(granted(calm(), 'c1', 'x', 1_000, 11), 'c2', 'y', 2_000, 10).findings).to.deep.equal(['tokens']);
  });

  it('grow in the order of the grants, also if two of one moment were called in the other order', () => {
    const call = (script: Script, id: string, t: number): Script =>
      script.own('c1', id, t, { type: 'call', path: '/a', kind: 'plain', flow: id, role: 'owner' });
    const grant = (script: Script, id: string, token: number): Script =>
      script
        .own('c1', id, 2_000, { type: 'granted', path: '/a', hold: `/a/${id}`, token: `${token}`, valid: true })
        .release('c1', id, 2_000);
    const called = call(call(calm(), 'x', 1_000), 'y', 1_001);
    expect(grant(grant(called, 'y', 10), 'x', 11).findings).to.deep.equal([]);
  });

  it('must not be the same for two znodes', () => {
    expect(granted(granted(calm(), 'c1', 'x', 1_000, 11), 'c2', 'y', 2_000, 11, '/a/other').findings).to.deep.equal([
      'tokens',
    ]);
  });

  it('are the same for the grants of one sticky znode, which have numbers that grow', () => {
    const sticky = (first: number, second: number): string[] =>
      granted(granted(calm(), 'c1', 'x', 1_000, 10, `/a/one#${first}`), 'c1', 'y', 2_000, 10, `/a/one#${second}`)
        .findings;
    expect(sticky(1, 2)).to.deep.equal([]);
    expect(sticky(2, 1)).to.deep.equal(['tokens']);
  });

  it('must not be two for one znode', () => {
    expect(
      granted(granted(calm(), 'c1', 'x', 1_000, 11, '/a/one'), 'c1', 'y', 2_000, 12, '/a/one', 'x').findings,
    ).to.deep.equal(['tokens']);
  });

  it('are compared with the largest so far, not with the last', () => {
    const script = granted(granted(calm(), 'c1', 'x', 1_000, 12), 'c2', 'y', 2_000, 10);
    expect(tokens(granted(script, 'c1', 'z', 3_000, 11).history).map(({ ids }) => ids)).to.deep.equal([
      ['x', 'y'],
      ['x', 'z'],
    ]);
  });

  it('of different paths are not compared', () => {
    expect(
      granted(calm(), 'c1', 'x', 1_000, 11).hold('c2', 'y', {
        path: '/b',
        call: 2_000,
        granted: 2_001,
        until: 2_002,
        token: 10,
      }).findings,
    ).to.deep.equal([]);
  });

  it('are compared as numbers of any size', () => {
    const text = granted(granted(calm(), 'c1', 'x', 1_000, 1_111), 'c2', 'y', 2_000, 1_112).text;
    const at = (first: string, second: string): string[] =>
      findingsOf(text.replaceAll('1111', first).replaceAll('1112', second));
    expect(at('9007199254740992', '9007199254740993')).to.deep.equal([]);
    expect(at('9007199254740993', '9007199254740992')).to.deep.equal(['tokens']);
    expect(at('999', '1000')).to.deep.equal([]);
  });

  it('may be smaller for a grant that reaches a stopped process late and is not valid', () => {
    const script = granted(calm(), 'c2', 'y', 8_000, 11).fault('stop-client', 'c1', 1_000, 9_000);
    script.own('c1', 'x', 990, { type: 'call', path: '/a', kind: 'plain', flow: 'x' });
    script.own('c1', 'x', 9_001, { type: 'granted', path: '/a', hold: '/a/lock-10', token: '10', valid: false });
    expect(script.lose('c1', 'x', 9_002).findings).to.deep.equal(['granted-invalid']);
  });

  it('may be smaller for a grant whose znode a third party had just deleted', () => {
    const late = (target: string): string[] =>
      granted(calm(), 'c2', 'y', 3_000, 11)
        .fault('delete-znode', target, 2_990, 2_995, ['c1', 'c2'])
        .hold('c1', 'x', { call: 990, granted: 3_020, token: 10 })
        .lose('c1', 'x', 3_040, 'node-deleted').findings;
    expect(late('/a/lock-10')).to.deep.equal([]);
    expect(late('/a/lock-9')).to.include('tokens');
  });
});
