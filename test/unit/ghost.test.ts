import { expect } from 'chai';
import { isForgotten, pauseMs } from '../../src/client/ghost.ts';
import { probePauseMs } from '../../src/client/successor.ts';

describe('a session that was given up', () => {
  const timeoutMs = 10_000;

  it('is forgotten once the servers have answered for one and a half session timeouts since its last contact', () => {
    const at = (answeredAt: number): boolean => isForgotten({ connectedAt: 0, answeredAt }, 1_000, timeoutMs);
    expect([1_000, 15_999, 16_000].map(at)).to.deep.equal([false, false, true]);
  });

  it('is not forgotten by servers that were away, because a new leader starts its timeout again', () => {
    const at = (answeredAt: number): boolean => isForgotten({ connectedAt: 50_000, answeredAt }, 1_000, timeoutMs);
    expect([49_000, 64_999, 65_000].map(at)).to.deep.equal([false, false, true]);
  });

  it('is dialled with growing pauses of at least 250 ms and at most a third of its timeout', () => {
    expect([1, 2, 3, 4, 5, 100].map((rounds) => pauseMs(rounds, timeoutMs))).to.deep.equal([
      250,
      500,
      1_000,
      2_000,
      timeoutMs / 3,
      timeoutMs / 3,
    ]);
    expect(pauseMs(3, 300)).to.equal(250);
  });
});

describe('a new session beside an overdue one', () => {
  it('is opened again after one second, two, four, and so on, up to a session timeout', () => {
    expect([0, 1, 2, 3, 4, 100].map((fruitless) => probePauseMs(fruitless, 10_000))).to.deep.equal([
      1_000, 2_000, 4_000, 8_000, 10_000, 10_000,
    ]);
    expect(probePauseMs(0, 500)).to.equal(500);
  });
});
