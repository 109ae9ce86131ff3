import { expect } from 'chai';
import { ManualClock } from '../../lab/manual-clock.ts';
import type { IdleFlag } from '../../src/sticky/idle-flag.ts';
import { IdleTime } from '../../src/sticky/idle-time.ts';

const idleMs = 1_000;

describe('the idle time of a sticky lock', () => {
  let clock: ManualClock;
  let shown: string[];
  let time: IdleTime;

  beforeEach(() => (time = newTime(idleMs)));

  const newTime = (ofIdleMs: number): IdleTime => {
    clock = new ManualClock();
    shown = [];
    const flag = {
      get isUp(): boolean {
        return shown.at(-1) === 'idle';
      },
      show: (use: string) => void shown.push(use),
    };
    const options = { clock, idleMs: ofIdleMs };
    return new IdleTime(flag as unknown as IdleFlag, options, () => void shown.push('over'));
  };

  it('is shown after 20 ms, and is over after `idleMs`', () => {
    time.begin();
    clock.advance(19);
    expect(shown).to.deep.equal([]);
    clock.advance(1);
    expect(shown).to.deep.equal(['idle']);
    clock.advance(idleMs - 21);
    expect(shown).to.deep.equal(['idle']);
    clock.advance(1);
    expect(shown).to.deep.equal(['idle', 'over']);
  });

  it('begins anew after each use', () => {
    time.begin();
    clock.advance(10);
    time.stop();
    time.begin();
    clock.advance(19);
    expect(shown).to.deep.equal([]);
    clock.advance(1);
    time.stop();
    expect(shown).to.deep.equal(['idle', 'busy']);
    time.begin();
    clock.advance(idleMs - 1);
    expect(shown).to.deep.equal(['idle', 'busy', 'idle']);
    clock.advance(1);
    expect(shown).to.deep.equal(['idle', 'busy', 'idle', 'over']);
  });

  it('is over after `idleMs` also if that is shorter than the time until it is shown', () => {
    const short = newTime(5);
    short.begin();
    clock.advance(3);
    short.stop();
    short.begin();
    clock.advance(4);
    expect(shown).to.deep.equal([]);
    clock.advance(1);
    expect(shown).to.deep.equal(['over']);
  });
});
