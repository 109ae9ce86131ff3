import { expect } from 'chai';
import type { LockHost } from '../../src/client/lock-host.ts';
import type { Hold } from '../../src/mutex/hold.ts';
import { OutsideWaits } from '../../src/mutex/report/outside-waits.ts';
import type { Deadline } from '../../src/support/deadline.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

describe('the warning about an acquire that waits for its own process', () => {
  it('comes only when one acquire has waited for a second, and not several acquires together', () => {
    const clock = new ManualClock();
    const warnings: string[] = [];
    const host = {
      clock,
      isClosing: false,
      options: {},
      sessions: { onChange: () => undefined },
      report: { warn: (text: string) => warnings.push(text) },
    };
    const waits = new OutsideWaits(host as unknown as LockHost);
    const outsiders: Deadline[] = [];
    const lock = { path: '/a', outsiders, blockingOutsiders: {} as unknown as Hold };
    const begin = (): void => {
      const deadline = { startedAt: clock.now() } as unknown as Deadline;
      outsiders.push(deadline);
      waits.look(lock);
    };
    begin();
    clock.advance(600);
    begin();
    outsiders.shift();
    waits.look(lock);
    clock.advance(900);
    expect(warnings).to.deep.equal([]);
    clock.advance(500);
    expect(warnings).to.have.length(1);
  });
});
