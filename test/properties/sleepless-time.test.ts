import { expect } from 'chai';
import fc from 'fast-check';
import { Machine } from '../../lab/servers/machine.ts';

const nap = fc.oneof(
  fc.double({ min: 30, max: 5_000, noNaN: true }),
  fc.double({ min: 30, max: 36_000_000, noNaN: true }),
);
const anyNap = fc.double({ min: 0, max: 3_000, noNaN: true });
const step = fc.oneof(
  fc.double({ min: -5_000, max: 5_000, noNaN: true }),
  fc.double({ min: -1e10, max: 1e10, noNaN: true }),
);
const work = fc.double({ min: 0, max: 5_000, noNaN: true });
const uptimeMs = fc.double({ min: 900_000, max: 902_000, noNaN: true });
/** As long as it has shown only full seconds, its unit may be a second. */
const notAtSecond = fc.double({ min: 900_010, max: 900_999, noNaN: true });
const seed = fc.integer();

/** The process is interrupted between two clocks after the first of two naps that are too short to be seen alone. */
const interruptedBetweenNaps: [number, number, [number, number][]] = [
  900_000,
  10,
  [[0, 7.3], ...Array.from({ length: 5 }, (): [number, number] => [0, 0]), [0, 23]],
];

/** Mostly some microseconds. Now and then other processes have the CPU. */
function reading(seedOfReads: number): () => number {
  let state = seedOfReads >>> 0;
  const random = (): number => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
  return () => (random() < 0.03 ? random() * 60 : random() * 0.05);
}

/** The change of the difference between the two clocks since the start. */
function lag(machine: Machine): () => number {
  const [start, trueStart] = [machine.now(), machine.trueTime];
  return () => {
    const trueNow = machine.trueTime;
    return trueNow - trueStart - (machine.now() - start);
  };
}

for (const granularityMs of [10, 1_000] as const)
  describe(`sleepless time, with any events, on a machine with an uptime in units of ${granularityMs} ms`, () => {
    it('counts every nap of 30 ms to 10 h to within 5 ms, at any phase of the uptime', () => {
      fc.assert(
        fc.property(uptimeMs, fc.array(fc.tuple(work, nap), { minLength: 1, maxLength: 5 }), (uptime, naps) => {
          const machine = new Machine({ granularityMs, uptimeMs: uptime });
          const lagMs = lag(machine);
          for (const [workMs, napMs] of naps) {
            const before = lagMs();
            machine.works(workMs);
            machine.sleeps(napMs);
            expect(Math.abs(lagMs() - before)).to.be.below(5);
          }
        }),
        { numRuns: 2_000 },
      );
    });

    it('leaves at most 30 ms of naps uncounted, in any distribution, on a busy machine, too', () => {
      fc.assert(
        fc.property(
          uptimeMs,
          seed,
          fc.array(fc.tuple(work, fc.double({ min: 0, max: 60, noNaN: true })), { maxLength: 30 }),
          (uptime, seedOfReads, naps) => {
            const machine = new Machine({ granularityMs, uptimeMs: uptime, readMs: reading(seedOfReads) });
            const lagMs = lag(machine);
            for (const [workMs, napMs] of naps) {
              machine.works(workMs);
              machine.sleeps(napMs);
              expect(lagMs()).to.be.below(30);
            }
          },
        ),
        { numRuns: 2_000, examples: [interruptedBetweenNaps] },
      );
    });

    it('never goes back, whatever happens to its clocks', () => {
      fc.assert(
        fc.property(uptimeMs, seed, fc.array(fc.tuple(work, anyNap, step)), (uptime, seedOfReads, events) => {
          const machine = new Machine({ granularityMs, uptimeMs: uptime, readMs: reading(seedOfReads) });
          let last = machine.now();
          for (const [workMs, napMs, byMs] of events) {
            machine.works(workMs);
            machine.sleeps(napMs);
            machine.setsItsClock(byMs);
            const next = machine.now();
            expect(next - last).to.be.at.least(workMs);
            last = next;
          }
        }),
      );
    });

    it('counts a nap during which its clock is set, as far as the uptime can show it', () => {
      fc.assert(
        fc.property(granularityMs === 10 ? notAtSecond : uptimeMs, work, nap, step, (uptime, workMs, napMs, byMs) => {
          const machine = new Machine({ granularityMs, uptimeMs: uptime });
          const lagMs = lag(machine);
          machine.works(workMs);
          machine.sleeps(napMs);
          machine.setsItsClock(byMs);
          // If the nap and the change of the clock cancel each other out, nothing can detect them.
          if (Math.abs(napMs + byMs) > 30) expect(Math.abs(lagMs())).to.be.at.most(2 * granularityMs + 0.01);
        }),
        { numRuns: 2_000 },
      );
    });
  });

describe('sleepless time, with a wall clock that is set to any time', () => {
  it('adds nothing where the uptime is fine', () => {
    fc.assert(
      fc.property(notAtSecond, fc.array(fc.tuple(work, step), { maxLength: 30 }), (uptime, steps) => {
        const machine = new Machine({ uptimeMs: uptime });
        const lagMs = lag(machine);
        for (const [workMs, byMs] of steps) {
          machine.works(workMs);
          machine.setsItsClock(byMs);
          expect(Math.abs(lagMs())).to.be.below(1e-4);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('reads the uptime once for each time that the clock is set', () => {
    const machine = new Machine();
    const before = machine.looks;
    for (let time = 1; time <= 10; time += 1) {
      machine.setsItsClock(time % 2 === 0 ? 1_000 : -1_000);
      for (let ask = 0; ask < 100; ask += 1) machine.now();
    }
    expect(machine.looks - before).to.equal(10);
  });
});
