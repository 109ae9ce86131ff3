import { once } from 'node:events';
import { expect } from 'chai';
import { Events } from '../../src/support/events.ts';

describe('events', () => {
  it('continue after a listener has thrown any value', async () => {
    for (const thrown of [new Error('enough'), 'enough', Object.create(null) as unknown, undefined]) {
      const events = new Events<{ news: number }>('news');
      const heard: number[] = [];
      events.listen('on', 'news', () => {
        throw thrown;
      });
      events.listen('on', 'news', (value) => heard.push(value));
      const warned = once(process, 'warning');
      events.tell('news', 1);
      await warned;
      events.tell('news', 2);
      expect(heard).to.deep.equal([1, 2]);
    }
  });

  it('are named by the warning of a listener that fails, with the path that they are about, and with its stack', async () => {
    const events = new Events<{ news: string; acquired: object }>('news', 'acquired');
    const failure = new TypeError('enough');
    const failing = (): never => {
      throw failure;
    };
    events.listen('on', 'news', failing);
    events.listen('on', 'acquired', failing);
    const warnings = [];
    for (const tell of [
      () => events.tell('news', 'late'),
      () => events.tell('acquired', { hold: { path: '/locks/a/lock-1' } }),
    ]) {
      const warned = once(process, 'warning');
      tell();
      warnings.push(...((await warned) as (Error & { detail?: unknown })[]));
    }
    expect(warnings.map(({ message }) => message)).to.deep.equal([
      "zookeeper-fair-lock: a listener of 'news' failed: enough",
      "zookeeper-fair-lock: a listener of 'acquired' for /locks/a/lock-1 failed: enough",
    ]);
    for (const warning of warnings) expect(warning).to.include({ cause: failure, detail: failure.stack });
  });

  it('are emitted to all listeners in order, including events that a listener causes', () => {
    const events = new Events<{ news: number }>('news');
    const heard: string[] = [];
    events.listen('on', 'news', (value) => {
      heard.push(`first ${value}`);
      if (value === 1) events.tell('news', 2);
    });
    events.listen('on', 'news', (value) => heard.push(`second ${value}`));
    events.tell('news', 1);
    expect(heard).to.deep.equal(['first 1', 'second 1', 'first 2', 'second 2']);
  });
});
