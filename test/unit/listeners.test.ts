import { expect } from 'chai';
import { Listeners } from '../../src/support/listeners.ts';

describe('Listeners', () => {
  it('are not called after another one has removed them, nor before the next time if it has added them', () => {
    const listeners = new Listeners<string>();
    const heard: string[] = [];
    const added = (value: string): void => void heard.push(`added ${value}`);
    listeners.add((value) => {
      heard.push(`first ${value}`);
      remove();
      listeners.add(added);
    });
    const remove = listeners.add((value) => heard.push(`removed ${value}`));
    listeners.tell('now');
    listeners.tell('later');
    expect(heard).to.deep.equal(['first now', 'first later', 'added later']);
  });
});
