import { expect } from 'chai';
import { type Life, newLife, silentAt } from '../../src/zookeeper/session/life.ts';

const timeoutMs = 12_000;
const unused = newLife({ tickTimeMs: undefined, connectBy: -Infinity, hosts: 1, isResumed: false });

function life(answeredSentAt: number, holds: number): Life {
  return { ...unused, answeredSentAt, holds, proof: { ...unused.proof, timeoutMs } };
}

describe('a connection is given up', () => {
  it('a quarter of the timeout after an unanswered request was sent, while a lock is held', () => {
    expect(silentAt(life(1_000, 1), 5_000)).to.equal(8_000);
  });

  it('two thirds of the timeout after the newest answered request was sent, otherwise', () => {
    expect(silentAt(life(1_000, 0), 5_000)).to.equal(9_000);
  });

  it('two thirds of the timeout after the oldest request, also if pings are answered meanwhile', () => {
    expect(silentAt(life(12_000, 0), 5_000)).to.equal(13_000);
  });

  it('not before a request that was sent late has been unanswered for a sixth of the timeout', () => {
    expect(silentAt(life(1_000, 0), 30_000)).to.equal(32_000);
  });
});
