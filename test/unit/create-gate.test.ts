import { expect } from 'chai';
import { CreateGates } from '../../src/internals/create-gate.ts';
import type { Deadline } from '../../src/support/deadline.ts';

/** Waits without a limit. */
const deadline = {
  wait: (subscribe: (wake: () => void) => () => void) => new Promise<void>((resolve) => void subscribe(resolve)),
} as unknown as Deadline;

describe('a gate of creates', () => {
  it('lets its waiters through one after the other, in order, and is forgotten after the last', async () => {
    const gates = new CreateGates();
    const gate = gates.close('/lock');
    const order: number[] = [];
    const line = [1, 2, 3].map(async (place) => {
      await gate.wait(deadline);
      expect(gates.closedAt('/lock')).to.equal(gate);
      order.push(place);
      gate.letNextGo();
    });
    expect(order).to.deep.equal([]);
    gate.settle();
    gate.letNextGo();
    await Promise.all(line);
    expect(order).to.deep.equal([1, 2, 3]);
    expect(gates.closedAt('/lock')).to.equal(undefined);
  });

  it('lets all callers whose create was refused pass before all newcomers, which wait until no create can be refused any more', async () => {
    const gates = new CreateGates();
    const gate = gates.close('/lock');
    const order: string[] = [];
    const go = async (name: string, who: 'refused' | 'newcomer'): Promise<void> => {
      await gate.wait(deadline, who);
      order.push(name);
      gate.letNextGo();
    };
    const newcomers = ['third', 'fourth'].map((name) => go(name, 'newcomer'));
    gate.letNextGo(); // the caller that closed the gate has sent its create
    await go('first', 'refused'); // passes at once
    await go('second', 'refused');
    expect(order).to.deep.equal(['first', 'second']);
    gate.settle();
    await Promise.all(newcomers);
    expect(order).to.deep.equal(['first', 'second', 'third', 'fourth']);
    expect(gates.closedAt('/lock')).to.equal(undefined);
  });

  it('lets refused callers pass before newcomers, also if none can be refused any more', async () => {
    const gate = new CreateGates().close('/lock');
    const order: string[] = [];
    const go = async (name: string, who: 'refused' | 'newcomer'): Promise<void> => {
      await gate.wait(deadline, who);
      order.push(name);
      gate.letNextGo();
    };
    const line = [go('third', 'newcomer'), go('first', 'refused'), go('second', 'refused')];
    gate.settle();
    gate.letNextGo();
    await Promise.all(line);
    expect(order).to.deep.equal(['first', 'second', 'third']);
  });

  it('forgets a caller that gives up, which would let no other through', async () => {
    const gates = new CreateGates();
    const gate = gates.close('/lock');
    const order: string[] = [];
    const go = async (name: string, of = deadline): Promise<void> => {
      await gate.wait(of);
      order.push(name);
      gate.letNextGo();
    };
    const giveUps: (() => void)[] = [];
    const short = {
      wait: (subscribe: (wake: () => void) => () => void) =>
        new Promise<void>((resolve) => giveUps.push(subscribe(resolve))),
    } as unknown as Deadline;
    void go('gave up first', short);
    const second = go('second');
    void go('gave up later', short);
    for (const giveUp of giveUps) giveUp();
    gate.settle();
    gate.letNextGo();
    await second;
    expect(order).to.deep.equal(['second']);
    expect(gates.closedAt('/lock')).to.equal(undefined);
  });

  it('delays only the callers of its own path', () => {
    const gates = new CreateGates();
    gates.close('/lock');
    expect(gates.closedAt('/other')).to.equal(undefined);
  });
});
