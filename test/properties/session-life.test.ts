import { expect } from 'chai';
import { step, type Order, type Step } from '../../src/zookeeper/session/session-life.ts';
import { LifeWalk, type Rules } from '../model/life-walk.ts';

const depth = Number(process.env['MODEL_DEPTH'] ?? 7);

/** Rules that look right. Each differs from the shipped one in one thing. */
const brokenRules: readonly { readonly name: string; readonly rules: Rules; readonly says: RegExp }[] = [
  {
    name: 'a heartbeat of an earlier connection counts',
    says: /attach goes on|two heartbeats|ends twice|no heartbeat/,
    rules: (life, fact, now) => step(life, fact.is === 'beaten' ? { ...fact, epoch: life.epoch } : fact, now),
  },
  {
    name: 'an attach goes on until the sync behind its write',
    says: /goes on after its write/,
    rules: (life, fact, now) => {
      const next = step(life, fact, now);
      return fact.is === 'beaten' ? { life: { ...next.life, attach: life.attach }, orders: [] } : next;
    },
  },
  {
    name: 'the end of an attach is not told',
    says: /callers of an attach/,
    rules: (life, fact, now) => without(step(life, fact, now), 'end-attach', fact.is === 'cut'),
  },
  {
    name: 'a connection after the deadline of a hold is told',
    says: /after the deadline of a hold/,
    rules: (life, fact, now) => {
      if (fact.is !== 'granted') return step(life, fact, now);
      const next = step({ ...life, holds: 0 }, fact, now);
      return { ...next, life: { ...next.life, holds: life.holds } };
    },
  },
  {
    name: 'a heartbeat that fails is the last one',
    says: /no heartbeat/,
    rules: (life, fact, now) =>
      fact.is === 'beaten' ? { life: { ...life, attach: 'none' }, orders: [] } : step(life, fact, now),
  },
  {
    name: 'a hold does not wake the session',
    says: /wakes up/,
    rules: (life, fact, now) => {
      const next = step(life, fact, now);
      return fact.is === 'held' ? { ...next, life: { ...next.life, wakeAt: life.wakeAt } } : next;
    },
  },
  {
    name: 'a request does not wake the session',
    says: /never wakes up/,
    rules: (life, fact, now) => (fact.is === 'sent' ? { life, orders: [] } : step(life, fact, now)),
  },
  {
    name: 'an idle session writes',
    says: /quiet session writes/,
    rules: (life, fact, now) => step(fact.is === 'tick' ? { ...life, neededAt: now } : life, fact, now),
  },
];

function without({ life, orders }: Step, what: Order['do'], isMeant: boolean): Step {
  return { life, orders: orders.filter((order) => !isMeant || order.do !== what) };
}

describe(`the life of a session, in every order of ${depth} events`, function () {
  this.timeout(120_000);

  it('keeps its rules', () => {
    const walk = new LifeWalk(step);
    walk.explore(depth);
    for (const order of ['prove', 'sync', 'attach', 'end-attach', 'drop', 'resume', 'suspend', 'end', 'lose'] as const)
      expect(walk.seen.get(order), order).to.be.above(10);
  });

  for (const { name, rules, says } of brokenRules)
    it(`would break them if ${name}`, () => {
      expect(() => new LifeWalk(rules).explore(depth)).to.throw(says);
    });
});
