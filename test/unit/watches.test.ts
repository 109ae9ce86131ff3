import { expect } from 'chai';
import fc from 'fast-check';
import { SessionWatches, Watches, type WatchListener } from '../../src/zookeeper/session/watches.ts';

const noop: WatchListener = () => undefined;

describe('Watches', () => {
  it('notify all listeners of a path, once, and no listener of another path', () => {
    const watches = new Watches();
    const heard: string[] = [];
    watches.add('/a', (event) => heard.push(`first ${event}`));
    watches.add('/a', (event) => heard.push(`second ${event}`));
    watches.add('/b', (event) => heard.push(`other ${event}`));
    watches.fire('/a', 'deleted');
    watches.fire('/a', 'deleted');
    expect(heard).to.deep.equal(['first deleted', 'second deleted']);
  });

  it("remove the server's watch with the last listener of its path", () => {
    const watches = new Watches();
    const [first, second]: WatchListener[] = [() => undefined, () => undefined];
    if (first === undefined || second === undefined) throw new Error('There are two listeners');
    watches.add('/a', first);
    watches.add('/a', second);
    expect(watches.delete('/a', first)).to.equal(false);
    expect(watches.delete('/a', second)).to.equal(true);
    expect(watches.paths()).to.deep.equal([]);
  });

  it('count a listener that is added twice as one', () => {
    const watches = new Watches();
    watches.add('/a', noop);
    watches.add('/a', noop);
    expect(watches.delete('/a', noop)).to.equal(true);
  });

  it('remove nothing for a listener that does not wait, or no longer waits', () => {
    const watches = new Watches();
    expect(watches.delete('/a', noop)).to.equal(false);
    watches.add('/a', () => undefined);
    expect(watches.delete('/a', noop)).to.equal(false);
    watches.add('/b', noop);
    watches.fire('/b', 'changed');
    expect(watches.delete('/b', noop)).to.equal(false);
  });

  it('keep a watch that is planted anew while the last one fires', () => {
    const watches = new Watches();
    const heard: string[] = [];
    watches.add('/a', (event) => {
      heard.push(event);
      watches.add('/a', (next) => heard.push(next));
    });
    watches.fire('/a', 'changed');
    expect(watches.paths()).to.deep.equal(['/a']);
    watches.fire('/a', 'deleted');
    expect(heard).to.deep.equal(['changed', 'deleted']);
  });

  it('list every path with a listener once, after any additions and removals', () => {
    const paths = fc.constantFrom('/a', '/b', '/c');
    const listeners = fc.constantFrom<WatchListener>(
      ...Array.from({ length: 3 }, (): WatchListener => () => undefined),
    );
    const step = fc.record({ what: fc.constantFrom('add', 'delete', 'fire'), path: paths, listener: listeners });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const watches = new Watches();
        const waiting = new Map<string, Set<WatchListener>>();
        for (const { what, path, listener } of steps) {
          const before = waiting.get(path) ?? new Set();
          if (what === 'add') {
            watches.add(path, listener);
            waiting.set(path, new Set([...before, listener]));
          } else if (what === 'delete') {
            const isLast = before.delete(listener) && before.size === 0;
            expect(watches.delete(path, listener)).to.equal(isLast);
          } else {
            watches.fire(path, 'changed');
            waiting.delete(path);
          }
          const expected = [...waiting].filter(([, who]) => who.size > 0).map(([each]) => each);
          expect(watches.paths()).to.have.members(expected);
        }
      }),
    );
  });
});

describe('the watches of a session', () => {
  it('tell a listener only the events of its kind, and a deletion in both', async () => {
    const session = { isConnected: true, find: () => Promise.resolve({}), request: () => Promise.resolve() };
    const watches = new SessionWatches(session as never);
    const heard: string[] = [];
    for (const kind of ['data', 'children'] as const)
      for (const path of ['/a', '/b', '/c'])
        await watches.plant(path, kind, (event) => heard.push(`${path} ${kind} ${event}`));
    watches.fired('/a', 'changed');
    watches.fired('/b', 'children');
    watches.fired('/c', 'deleted');
    expect(heard).to.deep.equal(['/a data changed', '/b children children', '/c data deleted', '/c children deleted']);
  });

  for (const [what, kind, there, events, isWanted, removed] of [
    ['no event', 'data', {}, [], false, []],
    ['an event of an earlier watch', 'data', {}, ['changed'], false, ['/a']],
    ['such an event, and a listener that waits again', 'data', {}, ['changed'], true, []],
    [
      'an event of an earlier watch, although the znode does not exist',
      'creation',
      undefined,
      ['created'],
      false,
      ['/a'],
    ],
    ['such an event, if the read planted none', 'data', undefined, ['deleted'], false, []],
  ] as const)
    it(`that a read leaves on the server are${removed.length === 0 ? ' not' : ''} removed after ${what}`, async () => {
      const removals: string[] = [];
      const answers: ((there: never) => void)[] = [];
      const watches = new SessionWatches({
        isConnected: true,
        find: () => new Promise((resolve) => answers.push(resolve)),
        request: ({ path }) => new Promise(() => removals.push(path)),
      });
      const planting = watches.plant('/a', kind, noop);
      for (const event of events) watches.fired('/a', event);
      if (isWanted) void watches.plant('/a', kind, () => undefined);
      answers[0]?.(there as never);
      await planting;
      expect(removals).to.deep.equal(removed);
    });
});
