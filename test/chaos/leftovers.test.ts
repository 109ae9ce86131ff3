import { expect } from 'chai';
import { check } from '../../chaos/check.ts';
import type { EndEvent } from '../../lab/judge/history.ts';
import { calm, Script, sessionTimeoutMs } from '../lab/judge/support/script.ts';

const clean: EndEvent = { type: 'end', left: {}, watches: 0, emptyAfterMs: { '/a': 1, '/b': 1 } };

function ending(end: Partial<EndEvent>): string[] {
  return calm()
    .without(({ type }) => type === 'end')
    .say(60_010, { ...clean, ...end }).findings;
}

describe('the end of a history', () => {
  it('is clean', () => {
    expect(ending({})).to.deep.equal([]);
    expect(ending({ left: { '/a': [] } })).to.deep.equal([]);
  });

  it('must not contain leftover znodes', () =>
    expect(ending({ left: { '/a': ['lock-1'] } })).to.deep.equal(['leftovers']));

  it('must not contain leftover watches', () => {
    expect(ending({ watches: 1 })).to.deep.equal(['leftovers']);
  });

  it('must show that each path was empty in time', () => {
    expect(ending({ emptyAfterMs: { '/a': 2 * sessionTimeoutMs, '/b': 1 } })).to.deep.equal([]);
    expect(ending({ emptyAfterMs: { '/a': 2 * sessionTimeoutMs + 1, '/b': 1 } })).to.deep.equal(['leftovers']);
    expect(ending({ emptyAfterMs: { '/a': 1 } })).to.deep.equal(['leftovers']);
  });

  it('must not be missing', () =>
    expect(calm().without(({ type }) => type === 'end').findings).to.deep.equal(['leftovers']));
});

describe('a warning in a history', () => {
  for (const what of ['unhandledRejection', 'uncaughtException', 'warning'] as const)
    it(`is a violation: ${what}`, () =>
      expect(calm().say(1_000, { type: 'warning', client: 'c1', what, error: 'Error: no' }).findings).to.deep.equal([
        'warnings',
      ]));

  it('is none if owners that take locks outside of contexts wait for each other', () => {
    const error = 'Warning: zookeeper-fair-lock: … Both were called outside of every lock context, …';
    const script = calm().say(1_000, { type: 'warning', client: 'c1', what: 'warning', error });
    expect(script.findings).to.deep.equal([]);
  });
});

describe('a history without grants', () => {
  it('tests nothing', () => {
    expect(check(new Script().end(1_000).history).violations.map(({ text }) => text)).to.deep.equal([
      'nothing was ever granted',
    ]);
  });

  it('tests nothing about a client that was never granted', () => {
    expect(calm().without((event) => 'id' in event && event.client === 'c1').findings).to.deep.equal([
      'run-without-grants',
    ]);
  });
});
