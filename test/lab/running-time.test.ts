import { expect } from 'chai';
import { RunningTime } from '../../lab/running-time.ts';
import { until } from '../../lab/until.ts';

const blockMs = 300;

function block(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockMs);
}

describe('the running time', () => {
  it('of a process grows, and never faster than the clock', async () => {
    const startedAt = performance.now();
    using time = new RunningTime();
    await until('100 ms have run', () => time.ms >= 100);
    expect(time.ms).to.be.at.most(performance.now() - startedAt);
  });

  it('stands still while the process is held up, which shows until its event loop has turned', async () => {
    using time = new RunningTime();
    const before = time.ms;
    block();
    expect(time.isHeldUp).to.equal(true);
    expect(time.ms - before).to.be.below(blockMs / 2);
    await until('the loop has turned', () => !time.isHeldUp);
  });

  it('stands still while a server does not answer', async () => {
    let answer = (): void => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const startedAt = performance.now();
    using time = new RunningTime(() => answered);
    await until('time has passed', () => performance.now() - startedAt > blockMs);
    expect(time.ms).to.be.below(blockMs / 2);
    answer();
    await until('it goes on', () => time.ms > blockMs / 2);
  });
});
