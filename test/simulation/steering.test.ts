import { expect } from 'chai';
import { Random } from '../../lab/random.ts';
import { Corpus } from '../../simulation/corpus.ts';
import { lineageOf, planOf, textOf } from '../../simulation/lineage.ts';
import type { Plan } from '../../simulation/plan.ts';
import { Points } from '../../simulation/points.ts';
import { observer, reached } from '../../src/support/reached.ts';

const size = { steps: 40, members: 3 };

describe('a lineage', () => {
  it('is the same plan each time, and another one after each crossing', () => {
    const plans = ['7', '7~1', '7~2', '7~1~2'].map((text) => {
      const lineage = lineageOf(text);
      if (!lineage) throw new Error(text);
      expect(textOf(lineage)).to.equal(text);
      const plan = planOf(lineage, size);
      expect(planOf(lineage, size)).to.deep.equal(plan);
      return JSON.stringify(plan);
    });
    expect(new Set(plans).size).to.equal(plans.length);
  });

  it('keeps the steps in the order of their times', () => {
    for (let mate = 1; mate < 200; mate += 1) {
      const times = planOf([3, mate, mate + 1], size).steps.map(({ at }) => at);
      expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
      expect(times.length).to.be.above(0);
    }
  });

  it('crosses two plans: each step keeps its lock, and no two locks have one path', () => {
    const callsOf = ({ locks, steps, prologue }: Plan): string[] =>
      [...(prologue?.steps ?? []), ...steps].flatMap((step) =>
        step.do === 'call'
          ? [JSON.stringify({ ...step, at: 0, lock: { ...locks[step.lock], path: '', sharedCount: '' } })]
          : [],
      );
    for (let mate = 1; mate < 50; mate += 1) {
      const [one, other, crossed] = [planOf([3], size), planOf([mate], size), planOf([3, mate], size)];
      expect(new Set(crossed.locks.map(({ path }) => path)).size).to.equal(one.locks.length + other.locks.length);
      expect([...callsOf(one), ...callsOf(other)]).to.include.members(callsOf(crossed));
    }
  });

  it('is read only from numbers', () => {
    for (const text of ['', 'a', '1~', '~1', '1..2', '1~-2']) expect(lineageOf(text), text).to.equal(undefined);
  });
});

describe('a corpus', () => {
  it('keeps the plans that have reached something new, and crosses them', () => {
    const corpus = new Corpus();
    const random = new Random(1, 5);
    expect(corpus.crossing(random)).to.equal(undefined);
    corpus.ran([1], new Set(['a']));
    corpus.ran([3, 4], new Set(['b']));
    corpus.ran([2], new Set(['a', 'b']));
    expect([corpus.size, corpus.features]).to.deep.equal([2, 2]);
    const crossings = Array.from({ length: 300 }, () => textOf(corpus.crossing(random) ?? [0]));
    expect(new Set(crossings)).to.have.all.keys('1~1', '1~4', '3~4~1', '3~4~4');
  });

  it('crosses the plans with the rarest features more often', () => {
    const corpus = new Corpus();
    for (let seed = 1; seed <= 20; seed += 1) corpus.ran([seed], new Set([`only ${seed}`]));
    corpus.ran([21], new Set(['only 21', 'only 21 too']));
    for (let runs = 0; runs < 9; runs += 1) corpus.ran([22], new Set(['only 1']));
    const random = new Random(1, 5);
    const first = Array.from({ length: 300 }, () => corpus.crossing(random)?.[0] ?? 0);
    const timesOf = (seed: number): number => first.filter((one) => one === seed).length;
    // It is among eight of 21 that often.
    expect(timesOf(21)).to.be.within(70, 140);
    expect(timesOf(1)).to.equal(0);
  });
});

describe('the points', () => {
  const { note } = observer;
  afterEach(() => (observer.note = note));

  it('have a name each, and are counted over all runs', () => {
    const points = new Points();
    const [one = '', two = ''] = points.all;
    expect(points.all.length).to.be.above(40);
    expect(new Set(points.all).size).to.equal(points.all.length);
    for (const point of [one, one, two]) reached(point);
    const [first, second] = [points.endRun(), points.endRun()];
    expect(first).to.include(`${one} × 2`).and.include(`${one} → ${two}`);
    expect(second.size).to.equal(0);
    expect(points.missed)
      .to.have.lengthOf(points.all.length - 2)
      .and.not.include(one);
    expect(points.table()).to.match(new RegExp(`^ +2  ${one}$`, 'm'));
  });
});
