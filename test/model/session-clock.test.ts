import { expect } from 'chai';
import { brokenRules, realRule, type ClockRule } from './clock-rules.ts';
import { runHistory, type History } from './history.ts';
import { Random } from '../../lab/random.ts';
import { drawScenario } from './scenario.ts';

const few = 6_000;
const histories = Math.max(few, Number(process.env['MODEL_HISTORIES'] ?? few));
const seed = Number(process.env['MODEL_SEED'] ?? 1675);

/** The numbers of the histories in which a rule trusted the session after its end. */
class Violations {
  readonly decided: number[] = [];
  readonly withoutMargin: number[] = [];
  readonly committed: number[] = [];
}

describe(`the session clock in ${histories} histories of an ensemble (seed ${seed})`, function () {
  // Only the machine can make it slow.
  this.timeout(600_000 + histories * 5);

  const violations = new Map<ClockRule, Violations>([realRule, ...brokenRules].map((rule) => [rule, new Violations()]));
  const of = (rule: ClockRule): Violations => violations.get(rule) ?? new Violations();
  const counts = { ended: 0, endedOnceProven: 0, believed: 0, reelected: 0, deposedSynced: 0 };
  let closest = -Infinity;

  before(() => {
    for (let index = 0; index < histories; index += 1) {
      const random = new Random(seed, index);
      // The first few histories must be enough to catch the broken rules.
      tally(index, runHistory(random, drawScenario(random), index < few ? [realRule, ...brokenRules] : [realRule]));
    }
  });

  function tally(index: number, { scenario, judge, leaders, syncsOfDeposed }: History): void {
    const [real] = judge.verdicts;
    if (!real) return;
    const isOneRate = [scenario.client, ...scenario.servers].every(({ rate }) => rate === 1);
    for (const { rule, lateMs, bareLateMs, lateAfterCommitMs } of judge.verdicts) {
      if (lateMs > 0) of(rule).decided.push(index);
      if (bareLateMs > 0 && isOneRate) of(rule).withoutMargin.push(index);
      if (lateAfterCommitMs > 0) of(rule).committed.push(index);
    }
    if (isOneRate) closest = Math.max(closest, real.bareLateMs / scenario.timeoutMs);
    if (judge.isClosed) counts.ended += 1;
    if (judge.isClosed && real.proof.provenAt !== -Infinity) counts.endedOnceProven += 1;
    if (judge.mostLeftMs > scenario.timeoutMs / 2) counts.believed += 1;
    if (leaders > 1) counts.reelected += 1;
    if (syncsOfDeposed > 0) counts.deposedSynced += 1;
  }

  it('never ends after its session, with clocks that differ by up to four percent', () => {
    expect(of(realRule).decided).to.deep.equal([]);
  });

  it('needs no margin for that if all clocks run at one rate', () => {
    expect(of(realRule).withoutMargin).to.deep.equal([]);
  });

  for (const rule of brokenRules)
    it(`would trust a session after other servers know its end if its rule were "${rule.name}"`, () => {
      expect(of(rule).committed).to.have.length.above(3);
    });

  it('is tested with enough cases: sessions end, leaders change, deposed leaders answer syncs, and the end comes close to the deadline', () => {
    expect(counts.endedOnceProven / histories).to.be.above(0.3);
    expect(counts.believed / histories).to.be.above(0.8);
    expect(counts.reelected / histories).to.be.above(0.1);
    expect(counts.deposedSynced).to.be.above(few / 200);
    expect(closest).to.be.within(-0.01, 0);
  });
});
