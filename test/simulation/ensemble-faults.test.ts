import { expect } from 'chai';
import { Random } from '../../lab/random.ts';
import { Fixture, noticedMs } from './support/fixture.ts';
import type { MemberClient } from './support/member-client.ts';

const histories = 300;
const steps = 60;

/** Random requests under random faults. The ensemble itself throws if two members apply different transactions. */
class Storm {
  readonly lab: Fixture;
  readonly #random: Random;
  readonly #members: number;
  #clients: MemberClient[] = [];
  readonly down = new Set<number>();
  /** The creates of unique paths, some of them answered. */
  readonly answered = new Map<string, { client: MemberClient; xid: number }>();
  readonly transcript: string[] = [];

  constructor(seed: number) {
    this.#random = new Random(seed, 1);
    this.#members = this.#random.pick([1, 3, 3, 3, 5]);
    this.lab = new Fixture({ members: this.#members, delayMs: this.#random.pick([0, 1, 20]) }, seed);
    this.lab.ensemble.onCommit(({ is, zxid, sessionId, changes }) => {
      const paths = changes.map((change) => `${change.is} ${change.path}`);
      this.transcript.push([zxid, is, sessionId, ...paths].join(' '));
    });
  }

  step(): void {
    const { ensemble, clock } = this.lab;
    const member = this.#random.whole(this.#members);
    const client = this.#clients[this.#random.whole(this.#clients.length)];
    const dice = this.#random.whole(20);
    if (dice < 3) this.#clients.push(this.lab.dial(member).connect(8_000));
    else if (dice === 3 && client?.isOpen) this.#clients.push(this.lab.dial(member).connect(8_000, client.ticket));
    else if (dice < 9 && client?.isOpen) this.#create(client);
    else if (dice < 12 && client?.isOpen) client.send({ op: 'delete', path: this.#path() });
    else if (dice === 12 && client?.isOpen) client.sync();
    else if (dice === 13) ensemble.cut(member);
    else if (dice < 16) ensemble.heal(member);
    else if (dice === 16) ensemble.depose();
    else if (dice === 17) this.#crash(member);
    else if (dice === 18) this.#restart(member);
    else if (client) ensemble.expire(client.ticket.sessionId);
    clock.advance(this.#random.pick([0, 1, 10, 100, 3_000]) * this.#random.next());
  }

  /** Takes all faults back. */
  calm(): void {
    for (let member = 0; member < this.#members; member += 1) {
      this.lab.ensemble.heal(member);
      this.#restart(member);
    }
    this.lab.clock.advance(2 * noticedMs);
  }

  /** Which paths exist, as each member shows it. */
  get views(): string[] {
    const clients = Array.from({ length: this.#members }, (_, member) => this.lab.dial(member).connect(40_000));
    this.lab.clock.advance(10_000);
    return clients.map((client) => {
      const xids = [...paths, ...this.answered.keys()].map((path) => client.exists(path));
      return xids.map((xid) => client.answer(xid) ?? 'no answer').join(' ');
    });
  }

  get closed(): string[] {
    return this.#clients.map(
      ({ isClosed, answers }) => `${isClosed} ${answers.map(({ xid, zxid }) => `${xid}:${zxid}`).join(' ')}`,
    );
  }

  #create(client: MemberClient): void {
    const path = this.#path();
    if (this.#random.chance(0.3)) {
      const own = `/once-${this.answered.size}`;
      this.answered.set(own, { client, xid: client.create(own) });
    } else client.create(path, this.#random.whole(2));
  }

  #path(): string {
    return this.#random.pick(paths);
  }

  #crash(member: number): void {
    this.lab.ensemble.crash(member);
    this.down.add(member);
  }

  #restart(member: number): void {
    if (this.down.delete(member)) this.lab.ensemble.restart(member);
  }
}

const paths = ['/a', '/b', '/c', '/d'] as const;

function storm(seed: number): Storm {
  const one = new Storm(seed);
  for (let step = 0; step < steps; step += 1) one.step();
  one.calm();
  return one;
}

describe('a simulated ensemble under faults', () => {
  it(`agrees on one history, and keeps all that it has answered, in ${histories} random histories`, () => {
    let [answered, lost, commits] = [0, 0, 0];
    for (let seed = 0; seed < histories; seed += 1) {
      const one = storm(seed);
      expect(one.lab.ensemble.leader, `leader of ${seed}`).to.be.a('number');
      const [view = '', ...others] = one.views;
      expect(view).to.not.include('no answer');
      for (const other of others) expect(other, `seed ${seed}`).to.equal(view);
      for (const [path, { client, xid }] of one.answered) {
        const isThere = one.lab.ensemble.committed().has(path);
        if (client.answer(xid) === 'ok') {
          answered += 1;
          expect(isThere, `${path} of ${seed}`).to.equal(true);
        } else if (!isThere) lost += 1;
      }
      commits += one.transcript.length;
    }
    // The histories contain what they are meant to.
    expect(answered).to.be.greaterThan(histories / 2);
    expect(lost).to.be.greaterThan(histories / 20);
    expect(commits).to.be.greaterThan(histories * 10);
  });

  it('has the same history again with the same seed', () => {
    for (let seed = 0; seed < 20; seed += 1) {
      const [one, other] = [storm(seed), storm(seed)];
      expect(other.transcript).to.deep.equal(one.transcript);
      expect(other.closed).to.deep.equal(one.closed);
    }
    expect(storm(1).transcript).to.not.deep.equal(storm(2).transcript);
  });
});
