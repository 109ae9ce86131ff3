import { expect } from 'chai';
import { calm, sessionTimeoutMs, type Script } from './support/script.ts';

const role = 'lease';
const windowMs = sessionTimeoutMs + 2_000;

/** Two leases of c1 on a path that has `max`, held from 1,000 to 2,000. */
function crowded(max: number): Script {
  return calm({ '/a': max })
    .hold('c1', 'x', { role, kind: 'many', call: 990, granted: 1_000, until: 2_000, token: 10 })
    .hold('c1', 'y', { role, kind: 'many', call: 990, granted: 1_000, until: 2_000, token: 11 });
}

describe('leases in a history', () => {
  it('may be as many as the semaphore has', () => {
    expect(crowded(2).findings).to.deep.equal([]);
    expect(
      crowded(3).hold('c2', 'z', { role, call: 995, granted: 1_500, until: 3_000, token: 12 }).findings,
    ).to.deep.equal([]);
  });

  it('must not be more, even with different owners', () => {
    expect(crowded(1).findings).to.deep.equal(['leases']);
    expect(
      crowded(2).hold('c2', 'z', { role, call: 995, granted: 1_500, until: 3_000, token: 12 }).findings,
    ).to.deep.equal(['leases']);
  });

  it('may follow each other without a gap', () => {
    expect(
      crowded(2).hold('c2', 'z', { role, call: 995, granted: 2_000, until: 3_000, token: 12 }).findings,
    ).to.deep.equal([]);
  });

  it('are counted at each moment, not between neighbours only', () => {
    const script = calm({ '/a': 2 }).hold('c1', 'long', { role, call: 990, granted: 1_000, until: 5_000, token: 10 });
    for (let index = 0; index < 3; index += 1)
      script.hold('c2', `short${index}`, {
        role,
        call: 995,
        granted: 1_100 + 100 * index,
        until: 1_150 + 100 * index,
        token: 11 + index,
      });
    expect(script.findings).to.deep.equal([]);
    script
      .hold('c2', 'second', { role, call: 995, granted: 2_000, until: 3_000, token: 20 })
      .hold('c2', 'third', { role, call: 995, granted: 2_900, until: 3_000, token: 21 });
    expect(script.findings).to.deep.equal(['leases']);
  });

  it('end with a killed process, but not with a process that learns late of its loss', () => {
    const killed = crowded(3)
      .fault('kill-client', 'c2', 1_200, 5_000)
      .say(5_100, { type: 'started', client: 'c2', incarnation: 2 });
    killed.hold('c2', 'z', { role, call: 995, granted: 1_100, token: 12 });
    expect(
      killed.hold('c1', 'u', { role, call: 1_000, granted: 1_300, until: 1_400, token: 13 }).findings,
    ).to.deep.equal([]);
    const late = crowded(3)
      .fault('silent-link', 'c2', 1_000, 5_000)
      .hold('c2', 'z', { role, call: 995, granted: 1_100, token: 12 })
      .lose('c2', 'z', 1_301);
    expect(late.hold('c1', 'u', { role, call: 1_000, granted: 1_300, until: 1_400, token: 13 }).findings).to.deep.equal(
      ['leases'],
    );
  });

  it('of different paths are counted separately', () => {
    const script = calm({ '/a': 1, '/b': 1 }).hold('c1', 'x', {
      role,
      call: 990,
      granted: 1_000,
      until: 2_000,
      token: 10,
    });
    expect(
      script.hold('c1', 'y', { path: '/b', role, call: 990, granted: 1_000, until: 2_000, token: 11 }).findings,
    ).to.deep.equal([]);
  });

  it('have different tokens, in any order', () => {
    const tokens = (first: number, second: number): string[] =>
      calm({ '/a': 2 })
        .hold('c1', 'x', { role, call: 990, granted: 1_000, until: 2_000, token: first, znode: '/a/leases/one' })
        .hold('c2', 'y', { role, call: 995, granted: 1_100, until: 2_100, token: second, znode: '/a/leases/other' })
        .findings;
    expect(tokens(11, 10)).to.deep.equal([]);
    expect(tokens(10, 10)).to.deep.equal(['tokens']);
  });

  it('are granted in the order of the calls of one process', () => {
    const script = calm({ '/a': 3 })
      .hold('c1', 'y', { role, call: 1_001, granted: 1_100, until: 1_200, token: 10 })
      .hold('c1', 'x', { role, call: 1_000, granted: 1_300, until: 1_400, token: 11 });
    expect(script.findings).to.deep.equal(['order']);
  });
});

describe('a semaphore after a fault was healed', () => {
  const healed = 10_000;

  /** `holders` leases are held until after the window, while c2 waits. */
  const waiting = (max: number, holders: number, until = healed + windowMs + 10_000): Script => {
    const script = calm({ '/a': max }).fault('cut-link', 'c1', 8_000, healed);
    for (let index = 0; index < holders; index += 1)
      script.hold('c1', `h${index}`, { role, call: 7_000, granted: 7_001, until, token: 10 + index });
    return script.hold('c2', 'w', { role, call: 9_000, granted: until + 1, until: until + 2, token: 30 });
  };

  it('must make progress while there is room for a call for the most leases', () => {
    expect(waiting(3, 1).findings).to.deep.equal(['progress']);
    expect(waiting(3, 0).findings).to.deep.equal(['progress']);
    expect(waiting(4, 2).findings).to.deep.equal(['progress']);
  });

  it('need not make progress while a waiter may want more leases than are free', () => {
    expect(waiting(3, 2).findings).to.deep.equal([]);
    expect(waiting(2, 1).findings).to.deep.equal([]);
  });

  it('must make progress once enough of its holders have released', () => {
    const script = (granted: number): Script =>
      calm({ '/a': 3 })
        .fault('cut-link', 'c1', 8_000, healed)
        .hold('c1', 'short', { role, call: 7_000, granted: 7_001, until: healed + 1_000, token: 10 })
        .hold('c1', 'long', { role, call: 7_000, granted: 7_002, until: healed + 30_000, token: 11 })
        .hold('c2', 'w', { role, call: 9_000, granted, until: granted + 1, token: 30 });
    expect(script(healed + 1_000 + windowMs).findings).to.deep.equal([]);
    expect(script(healed + 1_001 + windowMs).findings).to.deep.equal(['progress']);
  });
});
