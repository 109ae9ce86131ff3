import { expect } from 'chai';
import { Random } from '../../lab/random.ts';
import { Corpus } from '../../simulation/corpus.ts';
import { lineageOf, planOf, textOf } from '../../simulation/lineage.ts';
import { Points } from '../../simulation/points.ts';
import { observer, reached } from '../../src/support/reached.ts';

const size = { steps: 40, members: 3 };

describe('a lineage', () => {
  it('is the same plan each time, and another one after each mutation', () => {
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
    for (let mutation = 1; mutation < 200; mutation += 1) {
      const times = planOf([3, mutation, mutation + 1], size).steps.map(({ at }) => at);
      expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
      expect(times.length).to.be.above(0);
    }
  });

  it('is read only from numbers', () => {
    for (const text of ['', 'a', '1~', '~1', '1..2', '1~-2']) expect(lineageOf(text), text).to.equal(undefined);
  });
});

describe('a corpus', () => {
  it('keeps the plans that have reached something new, and mutates them', () => {
    const corpus = new Corpus();
    corpus.ran([1], new Set(['a']));
    corpus.ran([2], new Set(['a']));
    corpus.ran([3], new Set(['a', 'b']));
    expect([corpus.size, corpus.features]).to.deep.equal([2, 2]);
    const random = new Random(1, 5);
    const next = Array.from({ length: 300 }, () => corpus.next(random));
    const parents = new Set(next.filter(({ length }) => length === 2).map(([seed]) => seed));
    expect([...parents].sort()).to.deep.equal([1, 3]);
    expect(next.filter(({ length }) => length === 1).length).to.be.within(60, 140);
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
