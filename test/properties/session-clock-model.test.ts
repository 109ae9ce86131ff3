import { expect } from 'chai';
import { realRule } from '../model/clock-rules.ts';
import { runHistory } from '../model/history.ts';
import { Random } from '../../lab/random.ts';
import { idleScenario, quietScenario } from '../model/scenario.ts';

const seed = Number(process.env['MODEL_SEED'] ?? 1675);

describe('the session clock in quiet times', () => {
  for (const [timeoutMs, leastMs] of [
    [30_000, 11_000],
    [4_000, 1_400],
  ] as const)
    it(`is extended while at least ${leastMs} ms of a ${timeoutMs} ms session are left`, () => {
      for (let index = 0; index < 50; index += 1) {
        const random = new Random(seed, index);
        const { judge } = runHistory(random, quietScenario(random, timeoutMs), [realRule]);
        expect(judge.isClosed).to.equal(false);
        expect(judge.leastLeftMs).to.be.within(leastMs, timeoutMs);
      }
    });
});

describe('the schedule of the proofs in times without faults', () => {
  for (const timeoutMs of [4_000, 30_000]) {
    for (const slowestMs of [1, timeoutMs / 200])
      it(`keeps each hold of a ${timeoutMs} ms session alive, whatever the age of the proof at its grant, if a message takes up to ${slowestMs} ms`, () => {
        const left: number[] = [];
        const holds = { granted: 0, afterAttach: 0, died: 0 };
        for (let index = 0; index < 200; index += 1) {
          const random = new Random(seed, index);
          const { client } = runHistory(random, idleScenario(random, timeoutMs, slowestMs), [realRule]);
          left.push(...client.leftAtGrant);
          holds.granted += client.holds.granted;
          holds.afterAttach += client.holds.afterAttach;
          holds.died += client.holds.died;
        }
        expect(holds.died).to.equal(0);
        expect(holds.granted).to.be.above(1_000);
        // The grants are spread over all ages of the proof: right after an attach, in heartbeats, and before an attach.
        expect(holds.afterAttach / holds.granted).to.be.within(0.1, 0.7);
        for (const tenth of [3, 4, 5, 6, 7, 8])
          expect(left.filter((part) => Math.floor(part * 10) === tenth).length, `${tenth} tenths left`).to.be.above(5);
      });
  }
});
