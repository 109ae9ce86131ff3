import { expect } from 'chai';
import { Deadline } from '../../src/support/deadline.ts';
import { Admission } from '../../src/zookeeper/session/admission.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

const errors = { late: () => new Error('late'), closed: () => new Error('closed') };

describe('the admission of acquires', () => {
  let room: number;
  let polls: (() => void)[];
  let begun: string[];
  let admission: Admission;

  beforeEach(() => {
    room = 1;
    polls = [];
    begun = [];
    admission = new Admission(() => room, clock);
  });

  const clock = Object.assign(new ManualClock(), { afterPoll: (run: () => void) => void polls.push(run) });
  const enter = (name: string, signal?: AbortSignal): void => {
    const deadline = new Deadline({ clock, deadlines: new Set(), isClosing: false }, '/lock', errors, { signal });
    const waits = admission.enter(deadline);
    if (waits === undefined) begun.push(name);
    else
      waits.then(
        () => begun.push(name),
        () => undefined,
      );
  };
  const turn = (): Promise<void> => new Promise(setImmediate);

  it('lets an acquire begin at once while there is room, and the others in call order, two requests for each', async () => {
    enter('first');
    room = 0;
    for (const name of ['second', 'third', 'fourth']) enter(name);
    admission.admitSome();
    await turn();
    expect(begun).to.deep.equal(['first']);
    room = 4;
    enter('last');
    admission.admitSome();
    await turn();
    expect(begun).to.deep.equal(['first', 'second', 'third']);
  });

  it('lets the next one begin if one that it had let in has given up, and sends nothing', async () => {
    room = 0;
    const stop = new AbortController();
    enter('given up', stop.signal);
    enter('next');
    room = 1;
    admission.admitSome();
    stop.abort();
    await turn();
    for (const poll of polls.splice(0)) poll();
    await turn();
    expect(begun).to.include('next');
    expect(polls).to.deep.equal([]);
  });

  it('gives no room to one that has given up while it waited', async () => {
    room = 0;
    const stop = new AbortController();
    enter('given up', stop.signal);
    enter('next');
    stop.abort();
    room = 1;
    admission.admitSome();
    await turn();
    expect(begun).to.deep.equal(['next']);
  });
});
