import { expect } from 'chai';
import { closedGate, closeGate } from '../../src/internals/create-gate.ts';
import type { Deadline } from '../../src/internals/deadline.ts';

/** Waits without an end. */
const deadline = {
  wait: (subscribe: (wake: () => void) => () => void) => new Promise<void>((resolve) => void subscribe(resolve)),
} as unknown as Deadline;

describe('a gate of creates', () => {
  it('lets its line through one after the other, in their order, and is forgotten with the last', async () => {
    const client = {};
    const gate = closeGate(client, '/lock');
    const order: number[] = [];
    const line = [1, 2, 3].map(async (place) => {
      await gate.turn(deadline);
      expect(closedGate(client, '/lock')).to.equal(gate);
      order.push(place);
      gate.passOn();
    });
    expect(order).to.deep.equal([]);
    gate.settle();
    gate.passOn();
    await Promise.all(line);
    expect(order).to.deep.equal([1, 2, 3]);
    expect(closedGate(client, '/lock')).to.equal(undefined);
  });

  it('lets those whose create was refused pass before all newcomers, who wait until nobody can be refused any more', async () => {
    const client = {};
    const gate = closeGate(client, '/lock');
    const order: string[] = [];
    const go = async (name: string, who: 'refused' | 'newcomer'): Promise<void> => {
      await gate.turn(deadline, who);
      order.push(name);
      gate.passOn();
    };
    const newcomers = ['third', 'fourth'].map((name) => go(name, 'newcomer'));
    gate.passOn(); // the one that has closed it has sent its create
    await go('first', 'refused'); // at once
    await go('second', 'refused');
    expect(order).to.deep.equal(['first', 'second']);
    gate.settle();
    await Promise.all(newcomers);
    expect(order).to.deep.equal(['first', 'second', 'third', 'fourth']);
    expect(closedGate(client, '/lock')).to.equal(undefined);
  });

  it('stands in the way of one client and one path only', () => {
    const client = {};
    closeGate(client, '/lock');
    expect(closedGate(client, '/other')).to.equal(undefined);
    expect(closedGate({}, '/lock')).to.equal(undefined);
  });
});
