import { expect } from 'chai';
import fc from 'fast-check';
import { nextState, type ConnectionChange, type ConnectionState } from '../../src/client/report/connection-state.ts';

const history = (changes: readonly ConnectionChange[]): ConnectionState[] => {
  const told: ConnectionState[] = [];
  let state: ConnectionState | undefined;
  for (const change of changes) {
    const next = nextState(state, change);
    if (next !== state && next !== undefined) told.push(next);
    state = next;
  }
  return told;
};

describe('the connection state', () => {
  it('is connected the first time, and reconnected after that', () => {
    expect(history(['up', 'down', 'up', 'down', 'lost', 'up'])).to.deep.equal([
      'connected',
      'suspended',
      'reconnected',
      'suspended',
      'lost',
      'reconnected',
    ]);
  });

  it('is not suspended after it was lost, and not lost before it was connected', () => {
    expect(history(['down', 'lost', 'up', 'lost', 'down', 'up'])).to.deep.equal(['connected', 'lost', 'reconnected']);
  });

  it('is closed permanently', () => {
    expect(history(['up', 'closed', 'up', 'down', 'lost'])).to.deep.equal(['connected', 'closed']);
  });

  it('never repeats a state, is connected at most once and first, and ends with closed', () => {
    const changes = fc.array(fc.constantFrom<ConnectionChange>('up', 'down', 'lost', 'closed'), { maxLength: 30 });
    fc.assert(
      fc.property(changes, (all) => {
        const told = history(all);
        told.forEach((state, index) => {
          expect(state).not.to.equal(told[index - 1]);
          if (state === 'connected') expect(index).to.equal(0);
          if (state === 'closed') expect(index).to.equal(told.length - 1);
          if (state === 'reconnected') expect(told[index - 1]).to.be.oneOf(['suspended', 'lost']);
        });
      }),
    );
  });
});
