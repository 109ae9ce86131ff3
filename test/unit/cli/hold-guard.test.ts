import { expect } from 'chai';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { endTimes } from '../../../packages/zklock/src/cli/run/grace.ts';
import { HoldGuard } from '../../../packages/zklock/src/cli/run/hold-guard.ts';
import { UsageError } from '../../../packages/zklock/src/cli/usage-error.ts';
import { LockLostError } from '../../../src/index.ts';

describe('the guard of a hold', () => {
  const times = { graceMs: 1_000, marginMs: 200 };

  function guarded(remainingMs: number) {
    const clock = new ManualClock();
    const aborter = new AbortController();
    const hold = {
      signal: aborter.signal,
      endsAt: clock.now() + remainingMs,
      get remainingMs(): number {
        return Math.max(0, hold.endsAt - clock.now());
      },
    };
    const told: string[] = [];
    const guard = new HoldGuard(
      hold,
      { times, clock, periodMs: 500 },
      {
        renewed: (ms) => told.push(`renewed ${ms}`),
        mustEnd: (killInMs) => told.push(`end, kill in ${killInMs}`),
        lost: ({ reason }) => told.push(`lost ${reason}`),
      },
    );
    const lose = () => aborter.abort(new LockLostError('/a/b', 'session-deadline'));
    guard.begin();
    return { clock, hold, told, guard, lose };
  }

  it('tells the job to end when grace and margin are just left', () => {
    const { clock, told } = guarded(5_000);
    clock.advance(3_799);
    expect(told).to.deep.equal(['renewed 5000']);
    clock.advance(1);
    expect(told).to.deep.equal(['renewed 5000', 'end, kill in 1000']);
  });

  it('lets a job go on whose hold is renewed in time, and tells each renewal', () => {
    const { clock, hold, told } = guarded(5_000);
    for (let round = 0; round < 5; round++) {
      clock.advance(3_000);
      hold.endsAt = clock.now() + 5_000;
    }
    clock.advance(500);
    expect(told.filter((each) => each.startsWith('end'))).to.deep.equal([]);
    expect(told.filter((each) => each.startsWith('renewed'))).to.have.length.above(4);
  });

  it('leaves less than the grace if it looks late, so that KILL still comes before the end of the hold', () => {
    const { clock, told, guard } = guarded(5_000);
    clock.stall(4_300);
    guard.look();
    expect(told.at(-1)).to.equal('end, kill in 500');
    expect(guarded(150).told).to.deep.equal(['end, kill in 0']);
  });

  it('tells a loss at once and once, also after the job was told to end, and nothing afterwards', () => {
    const early = guarded(5_000);
    early.lose();
    early.clock.advance(10_000);
    expect(early.told).to.deep.equal(['renewed 5000', 'lost session-deadline']);
    expect(early.clock.timers).to.equal(0);
    const late = guarded(5_000);
    late.clock.advance(4_000);
    late.lose();
    expect(late.told).to.deep.equal(['renewed 5000', 'end, kill in 1000', 'lost session-deadline']);
  });

  it('keeps no timer after its end', () => {
    const { clock, guard, lose, told } = guarded(5_000);
    guard.end();
    lose();
    clock.advance(10_000);
    expect([clock.timers, told]).to.deep.equal([0, ['renewed 5000']]);
  });
});

describe('the times for the end of a job', () => {
  it('are a sixth of the session timeout for the grace, if none is given, and a small margin', () => {
    expect(endTimes(undefined, 30_000)).to.deep.equal({ graceMs: 5_000, marginMs: 500 });
    expect(endTimes(undefined, 12_000)).to.deep.equal({ graceMs: 2_000, marginMs: 300 });
    expect(endTimes(0, 1_600)).to.deep.equal({ graceMs: 0, marginMs: 100 });
    expect(endTimes(0, 800)).to.deep.equal({ graceMs: 0, marginMs: 50 });
  });

  it('leave a third of the session timeout untouched, which a hold always has in a healthy connection', () => {
    for (const timeoutMs of [100, 400, 1_000, 1_200, 4_000, 30_000, 600_000]) {
      const { graceMs, marginMs } = endTimes(timeoutMs / 4, timeoutMs);
      expect(graceMs + marginMs, String(timeoutMs)).to.be.below(timeoutMs / 3);
    }
  });

  it('allow a quarter of the session timeout, and the refusal of more says what fits', () => {
    expect(endTimes(7_500, 30_000).graceMs).to.equal(7_500);
    expect(() => endTimes(7_501, 30_000))
      .to.throw(UsageError, 'at most 7.5 fits')
      .with.property('message')
      .that.includes('--session-timeout 31');
  });
});
