import { expect } from 'chai';
import type { LockHost } from '../../src/client/lock-host.ts';
import { removeLate } from '../../src/internals/znode/late-creates.ts';
import type { LostZnode } from '../../src/internals/znode/strays.ts';
import { Companions } from '../../src/support/companions.ts';
import { Listeners } from '../../src/support/listeners.ts';
import type { Session } from '../../src/zookeeper/session/session.ts';
import { ManualClock } from '../../lab/manual-clock.ts';

const uuid = '6f1d2f7e-0000-4000-8000-000000000000';

describe('the searches for a create that was not carried out yet', () => {
  let clock: ManualClock;
  let session: ServedSession;

  beforeEach(() => {
    clock = new ManualClock(0);
    session = new ServedSession(clock);
  });

  it('come after pauses that double, the last one two minutes after the loss or later', async () => {
    lose();
    await pass(300_000);
    expect(session.lists).to.deep.equal([2_000, 6_000, 14_000, 30_000, 62_000, 122_000]);
    expect(clock.timers).to.equal(0);
  });

  it('are not put off by creates that are lost meanwhile, and begin anew for these', async () => {
    for (let second = 0; second < 10; second += 1) {
      lose();
      await pass(1_000);
    }
    expect(session.lists).to.deep.equal([2_000, 4_000, 6_000, 8_000, 10_000]);
  });

  it('have one list in flight, however many locks have lost a create', async () => {
    for (const name of ['/a', '/b', '/c']) lose(name);
    session.answers = false;
    await pass(20_000);
    expect(session.lists).to.deep.equal([2_000]);
    session.answers = true;
    session.answer();
    await pass(0);
    expect(session.lists).to.deep.equal([2_000, 20_000, 20_000]);
  });

  it('come at once on a new connection, and not before it', () => {
    lose();
    session.changes.tell();
    expect(session.lists).to.deep.equal([]);
    session.epoch += 1;
    session.changes.tell();
    expect(session.lists).to.deep.equal([0]);
  });

  it('begin anew on a new connection while a list of the last one is in flight, and go on', async () => {
    lose();
    session.answers = false;
    await pass(2_000);
    session.answers = true;
    session.epoch += 1;
    session.changes.tell();
    session.answer();
    await pass(4_000);
    expect(session.lists).to.deep.equal([2_000, 2_000, 6_000]);
  });

  it('end when the znode is found, which is deleted once', async () => {
    lose();
    session.names = [`_c_${uuid}-lock-0000000007`];
    await pass(200_000);
    expect([session.lists, session.deletions, clock.timers]).to.deep.equal([[2_000], 1, 0]);
  });

  it('end with the session', () => {
    lose();
    session.isEnded = true;
    session.changes.tell();
    clock.advance(1_000_000);
    expect([session.lists, clock.timers]).to.deep.equal([[], 0]);
  });

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    await new Promise(setImmediate);
  }

  it('do not begin after the end of the session', () => {
    session.isEnded = true;
    lose();
    expect(clock.timers).to.equal(0);
  });

  function lose(parent = '/lock'): void {
    const report = { warn: () => undefined, onServers: (path: string) => path };
    const lost: LostZnode = {
      parent,
      asked: `${parent}/_c_${uuid}-lock-`,
      uuid,
      stands: 'alike',
      isOfOther: () => false,
      host: { report, clock } as unknown as LockHost,
    };
    removeLate(session as unknown as Session, lost);
  }
});

/** The part of a session that is asked. */
class ServedSession {
  readonly #clock: ManualClock;
  readonly companions = new Companions(this as unknown as Session);
  readonly changes = new Listeners<void>();
  readonly isConnected = true;
  readonly timeoutMs = 4_000;
  /** The times of the lists. */
  readonly lists: number[] = [];
  names: string[] = [];
  answers = true;
  answer = (): void => undefined;
  deletions = 0;
  isEnded = false;
  epoch = 1;

  constructor(clock: ManualClock) {
    this.#clock = clock;
  }

  onChange(listener: () => void): () => void {
    return this.changes.add(listener);
  }

  catchUp(): void {
    // The list below waits for nothing.
  }

  find(): Promise<string[]> {
    this.lists.push(this.#clock.now());
    if (this.answers) return Promise.resolve(this.names);
    return new Promise((resolve) => (this.answer = () => resolve(this.names)));
  }

  /** The first question of a deletion. */
  whenConnected(): Promise<boolean> {
    this.deletions += 1;
    return Promise.resolve(false);
  }
}
