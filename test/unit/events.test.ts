import { once } from 'node:events';
import { expect } from 'chai';
import { Events } from '../../src/support/events.ts';

describe('events', () => {
  it('continue after a listener has thrown any value', async () => {
    for (const thrown of [new Error('enough'), 'enough', Object.create(null) as unknown, undefined]) {
      const events = new Events<{ news: number }>('news');
      const heard: number[] = [];
      events.on('news', () => {
        throw thrown;
      });
      events.on('news', (value) => heard.push(value));
      const warned = once(process, 'warning');
      events.tell('news', 1);
      await warned;
      events.tell('news', 2);
      expect(heard).to.deep.equal([1, 2]);
    }
  });

  it('are emitted to all listeners in order, including events that a listener causes', () => {
    const events = new Events<{ news: number }>('news');
    const heard: string[] = [];
    events.on('news', (value) => {
      heard.push(`first ${value}`);
      if (value === 1) events.tell('news', 2);
    });
    events.on('news', (value) => heard.push(`second ${value}`));
    events.tell('news', 1);
    expect(heard).to.deep.equal(['first 1', 'second 1', 'first 2', 'second 2']);
  });
});
