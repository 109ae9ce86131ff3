import { expect } from 'chai';
import { readOptions } from '../../../bench/options.ts';
import { addressOf, type Addresses } from '../../../bench/places.ts';
import type { PeerName } from '../../../bench/results.ts';
import { isBriefScenario, scenarios, takesPart } from '../../../bench/scenarios.ts';

const namesOf = (peer: PeerName): string[] =>
  scenarios.filter((scenario) => takesPart(peer, scenario)).map(({ name }) => name);

describe('the scenarios of the benchmark', () => {
  it('have different names, which are paths of znodes', () => {
    expect(new Set(scenarios.map(({ name }) => name)).size).to.equal(scenarios.length);
  });

  it('give redlock and etcd3 the same ones, on a lock of eight owners at most', () => {
    expect(namesOf('etcd3')).to.deep.equal(namesOf('redlock always')).and.include('hand-off 8, 5 ms links');
    expect(namesOf('etcd3')).to.not.include.members(['hand-off 64']);
  });

  it('have no ensemble with --brief', () => {
    expect(scenarios.filter(isBriefScenario).some(({ place }) => place === 'ensemble')).to.equal(false);
  });
});

describe('the addresses of the benchmark', () => {
  const addresses: Addresses = { ensemble: ['a', 'b', 'c'] };

  it('spread the sessions over the servers, in the same order for all peers', () => {
    expect([0, 1, 2, 3].map((session) => addressOf(addresses, 'ensemble', session))).to.deep.equal([
      'a',
      'b',
      'c',
      'a',
    ]);
  });

  it('are an error for a place without servers', () => {
    expect(() => addressOf(addresses, undefined, 0)).to.throw('No servers for the place loopback');
  });
});

describe('the options of the benchmark', () => {
  it('warm the servers up for 12 s, and not with --brief', () => {
    expect(readOptions([])).to.include({ rounds: 5, durationMs: 3_000, warmUpMs: 12_000, isBrief: false });
    expect(readOptions(['--brief'])).to.include({ rounds: 1, warmUpMs: 0, isBrief: true });
  });

  it('name scenarios, several times', () => {
    expect(readOptions(['--only', 'solo', '--only', 'spread 64']).only).to.deep.equal(['solo', 'spread 64']);
  });

  it('refuse what is no number above 0', () => {
    expect(() => readOptions(['--warm-up', 'long'])).to.throw(RangeError, 'Expected --warm-up to be a number above 0');
  });
});
