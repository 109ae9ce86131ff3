import { expect } from 'chai';
import { sleeplessTime } from '../../src/client/sleepless-time.ts';

/** A machine whose three clocks are set apart at the start, and whose system calls are counted. */
class Machine {
  #monotonic = 5_000;
  #wall = 1_700_000_000_000;
  #uptime = 900_000;
  looks = 0;
  readonly now = sleeplessTime({
    monotonic: () => this.#monotonic,
    wall: () => this.#wall,
    uptime: () => {
      this.looks += 1;
      return this.#uptime;
    },
  });

  works(ms: number): void {
    this.#monotonic += ms;
    this.sleeps(ms);
  }

  sleeps(ms: number): void {
    this.#wall += ms;
    this.#uptime += ms;
  }

  setsItsClock(byMs: number): void {
    this.#wall += byMs;
  }
}

describe('sleepless time', () => {
  it('runs with the machine, and asks for its uptime once', () => {
    const machine = new Machine();
    const start = machine.now();
    for (let ms = 0; ms < 100; ms += 1) {
      machine.works(100);
      expect(machine.now() - start).to.equal((ms + 1) * 100);
    }
    expect(machine.looks).to.equal(1);
  });

  it('counts a sleep at the first look after it, and goes on from there', () => {
    const machine = new Machine();
    const start = machine.now();
    machine.sleeps(60_000);
    expect(machine.now() - start).to.equal(60_000);
    machine.works(1_000);
    machine.sleeps(2_000);
    expect(machine.now() - start).to.equal(63_000);
  });

  it('adds short sleeps up until they are long enough to be told from the coarseness of the uptime', () => {
    const machine = new Machine();
    const start = machine.now();
    machine.sleeps(800);
    expect(machine.now() - start).to.equal(0);
    machine.sleeps(800);
    expect(machine.now() - start).to.equal(1_600);
  });

  it('does not take a clock that somebody sets for a sleep, forwards or back', () => {
    const machine = new Machine();
    const start = machine.now();
    machine.setsItsClock(3_600_000);
    expect(machine.now() - start).to.equal(0);
    machine.setsItsClock(-7_200_000);
    machine.works(10);
    expect(machine.now() - start).to.equal(10);
  });

  it('never goes back', () => {
    const machine = new Machine();
    machine.sleeps(10_000);
    const before = machine.now();
    machine.setsItsClock(-5_000);
    expect(machine.now()).to.equal(before);
  });
});
