import { expect } from 'chai';
import { Machine } from '../../lab/servers/machine.ts';

for (const granularityMs of [10, 1_000] as const)
  describe(`sleepless time with an uptime in units of ${granularityMs} ms`, () => {
    it("runs at the rate of the machine's clock, and reads its uptime once", () => {
      const machine = new Machine({ granularityMs });
      const start = machine.now();
      for (let ms = 0; ms < 100; ms += 1) {
        machine.works(100);
        expect(machine.now() - start).to.equal((ms + 1) * 100);
      }
      expect(machine.looks).to.equal(1);
    });

    it('counts a sleep at the first read after it, and continues from there', () => {
      const machine = new Machine({ granularityMs });
      const start = machine.now();
      machine.sleeps(60_000);
      expect(machine.now() - start).to.equal(60_000);
      machine.works(1_000);
      machine.sleeps(400);
      expect(machine.now() - start).to.equal(61_400);
      expect(machine.looks).to.equal(3);
    });

    it('adds up short sleeps until they are long enough to be detected', () => {
      const machine = new Machine({ granularityMs });
      const start = machine.now();
      machine.sleeps(15);
      expect(machine.now() - start).to.equal(0);
      machine.sleeps(15);
      expect(machine.now() - start).to.equal(30);
    });

    it('never counts a clock that is set back as a sleep', () => {
      const machine = new Machine({ granularityMs });
      const start = machine.now();
      machine.setsItsClock(-7_200_000);
      machine.works(10);
      expect(machine.now() - start).to.equal(10);
    });

    it('counts a sleep that the wall clock hides, because it is set back meanwhile, as far as the uptime is certain', () => {
      const machine = new Machine({ granularityMs });
      const start = machine.now();
      machine.sleeps(10_000);
      machine.setsItsClock(-4_000);
      expect(machine.now() - start).to.be.within(10_000 - 2 * granularityMs, 10_000);
    });

    it('never goes back', () => {
      const machine = new Machine({ granularityMs });
      machine.sleeps(10_000);
      const before = machine.now();
      machine.setsItsClock(-5_000);
      expect(machine.now()).to.equal(before);
    });
  });

describe('sleepless time', () => {
  it('does not count a clock that is set forward as a sleep', () => {
    const machine = new Machine();
    const start = machine.now();
    machine.setsItsClock(3_600_000);
    expect(machine.now() - start).to.equal(0);
    machine.setsItsClock(30);
    expect(machine.now() - start).to.equal(0);
  });

  it('adds up short sleeps, although the clock is set each time', () => {
    const machine = new Machine();
    const start = machine.now();
    for (let time = 0; time < 4; time += 1) {
      machine.sleeps(15);
      machine.setsItsClock(-60);
      machine.now();
    }
    expect(machine.now() - start).to.be.within(40, 60);
  });

  it('counts a clock that is set forward as a sleep of at most two seconds if the uptime is in whole seconds', () => {
    const machine = new Machine({ granularityMs: 1_000 });
    const start = machine.now();
    machine.setsItsClock(400);
    expect(machine.now() - start).to.equal(400);
    machine.setsItsClock(3_600_000);
    expect(machine.now() - start).to.be.within(400, 2_400);
  });

  it('recognizes a fine uptime that is at a full second when it begins', () => {
    const machine = new Machine({ uptimeMs: 900_000 });
    const start = machine.now();
    machine.works(1_230);
    machine.setsItsClock(500);
    expect(machine.now() - start).to.equal(1_230);
  });

  it('reads again if the process has to wait between two clocks', () => {
    const machine = new Machine();
    const start = machine.now();
    machine.sleeps(40);
    machine.isKeptWaiting(200);
    expect(machine.now() - start).to.be.within(40, 440);
    machine.sleeps(40);
    expect(machine.now() - start).to.be.within(280, 282);
  });
});
