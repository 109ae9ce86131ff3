import { expect } from 'chai';
import { closedTurnstile, closeTurnstile } from '../../src/internals/turnstile.ts';
import type { Deadline } from '../../src/internals/deadline.ts';

/** Waits without an end. */
const deadline = {
  wait: (subscribe: (wake: () => void) => () => void) => new Promise<void>((resolve) => void subscribe(resolve)),
} as unknown as Deadline;

describe('a turnstile', () => {
  it('lets its line through one after the other, in their order, and is forgotten with the last', async () => {
    const client = {};
    const turnstile = closeTurnstile(client, '/lock');
    const order: number[] = [];
    const line = [1, 2, 3].map(async (place) => {
      await turnstile.turn(deadline);
      expect(closedTurnstile(client, '/lock')).to.equal(turnstile);
      order.push(place);
      turnstile.passOn();
    });
    expect(order).to.deep.equal([]);
    turnstile.settle();
    turnstile.passOn();
    await Promise.all(line);
    expect(order).to.deep.equal([1, 2, 3]);
    expect(closedTurnstile(client, '/lock')).to.equal(undefined);
  });

  it('lets those whose create was refused pass before all newcomers, who wait until nobody can be refused any more', async () => {
    const client = {};
    const turnstile = closeTurnstile(client, '/lock');
    const order: string[] = [];
    const go = async (name: string, who: 'refused' | 'newcomer'): Promise<void> => {
      await turnstile.turn(deadline, who);
      order.push(name);
      turnstile.passOn();
    };
    const newcomers = ['third', 'fourth'].map((name) => go(name, 'newcomer'));
    turnstile.passOn(); // the one that has closed it has sent its create
    await go('first', 'refused'); // at once
    await go('second', 'refused');
    expect(order).to.deep.equal(['first', 'second']);
    turnstile.settle();
    await Promise.all(newcomers);
    expect(order).to.deep.equal(['first', 'second', 'third', 'fourth']);
    expect(closedTurnstile(client, '/lock')).to.equal(undefined);
  });

  it('stands in the way of one client and one path only', () => {
    const client = {};
    closeTurnstile(client, '/lock');
    expect(closedTurnstile(client, '/other')).to.equal(undefined);
    expect(closedTurnstile({}, '/lock')).to.equal(undefined);
  });
});
