import { expect } from 'chai';
import { machine } from './case-run.ts';
import { caseName, casesOf, factsOf, faultsOf, pairsOf, warningsOf, type Case } from './enumerator.ts';
import type { Scenario } from './scenario.ts';

/** The part of a case's name that is to be played; all cases without it. */
const only = process.env['FAULTS_ONLY'] ?? '';
/** Every so many pairs of faults are played; 1 for all of them, which takes an hour. */
const pairStep = Number(process.env['FAULTS_PAIRS'] ?? 97);
const inPairs = new Set(['acquire behind a holder', 'hand-over to another client']);
const mostShown = 20;
/** In real time. All pairs of one scenario take an hour where other programs keep the processors busy. */
const realLimitMs = 3 * 3_600_000;

/** Plays every fault at every frame of these scenarios. Fewer cases than `leastCases` mean that some were lost. */
export function playEveryFault(what: string, scenarios: readonly Scenario[], leastCases: number): void {
  describe(`${what}: every fault at every frame`, () => {
    const kinds = new Map(scenarios.flatMap(faultsOf).map(({ name }) => [name, 0]));
    let [frames, cases] = [0, 0];

    beforeEach(function () {
      // The limit of a test is for one case of a scenario, and each case has limits of its own.
      machine.time.limit(Infinity, () => undefined);
      this.currentTest?.timeout(realLimitMs);
    });

    for (const scenario of scenarios)
      it(scenario.name, async () => {
        const facts = await factsOf(scenario);
        expect(facts.length, 'frames').to.be.at.least(scenario.frames);
        frames += facts.length;
        const singles = casesOf(scenario, facts);
        const pairs = inPairs.has(scenario.name)
          ? pairsOf(singles).filter((_pair, index) => index % pairStep === 0)
          : [];
        const failures: string[] = [];
        for (const each of [...singles, ...pairs]) {
          if (!caseName(each).includes(only)) continue;
          const warnings = await warningsOf(each);
          cases += 1;
          for (const { fault } of each.strikes) kinds.set(fault.name, (kinds.get(fault.name) ?? 0) + 1);
          if (warnings.length > 0) failures.push([`${caseName(each)}:`, ...warnings, commandOf(each)].join('\n  '));
        }
        const told = failures.slice(0, mostShown).join('\n');
        expect(failures.length, `${failures.length} cases fail:\n${told}\n`).to.equal(0);
      });

    it('is a case that was played', function () {
      console.log(`    ${[...kinds].map(([name, count]) => `${count} ${name}`).join(', ')}`);
      console.log(`    ${scenarios.length} scenarios, ${frames} frames, ${kinds.size} kinds of faults: ${cases} cases`);
      if (only === '') expect(cases).to.be.at.least(leastCases);
    });
  });
}

/** Plays one case alone. */
function commandOf(each: Case): string {
  return `FAULTS_ONLY='${caseName(each).replaceAll("'", "'\\''")}' npx mocha 'test/faults/*.test.ts' -f '${each.scenario.name}'`;
}
