import type { HistoryEvent } from '../lab/judge/history.ts';
import type { Violation } from '../lab/judge/violation.ts';
import { phases } from '../lab/virtual/agenda.ts';
import type { Fault, Plan, Strike } from './plan.ts';
import { World } from './world.ts';

/** Runs a plan, one event after another, and checks after each. */
export class Simulation {
  readonly world: World;
  readonly #plan: Plan;
  #begin = 0;
  #at: At = { is: 'running' };
  #settled: () => void = () => {};

  constructor(plan: Plan) {
    this.#plan = plan;
    this.world = new World(plan);
  }

  async run(): Promise<Outcome> {
    const { judge } = this.world;
    const note = (reason: unknown): void => judge.tell('I9', `unhandled: ${String(reason)}`);
    process.on('unhandledRejection', note);
    try {
      await this.#run();
      // Node reports a rejection of the last event only after the promises of this turn.
      await new Promise(setImmediate);
    } finally {
      process.off('unhandledRejection', note);
    }
    judge.judgeHistory();
    return this.#outcome();
  }

  #run(): Promise<void> {
    const { agenda } = this.world;
    const begin = (this.#begin = agenda.now);
    for (const step of this.#plan.steps)
      agenda.add(begin + step.at, phases.socket, undefined, () => this.world.perform(step));
    if (this.#plan.strikes?.length) this.#strikeAt(this.#plan.strikes);
    const last = this.#plan.steps.at(-1)?.at ?? 0;
    agenda.add(begin + last + 1, phases.socket, undefined, () => {
      this.world.striker.heal();
      this.#at = { is: 'healed', since: agenda.now };
    });
    return new Promise((resolve) => {
      this.#settled = resolve;
      setImmediate(this.#turn);
    });
  }

  #strikeAt(strikes: readonly Strike[]): void {
    const { agenda, network, processes } = this.world;
    network.onMessage = ({ number, link }) => {
      for (const { message, when, fault } of strikes) {
        const index = processes.indexOf(link.process);
        if (message !== number || index < 0) continue;
        const strike = (): void =>
          this.world.striker.strike({ ...fault, process: index, client: index } as unknown as Fault);
        if (when === 'before') strike();
        else agenda.add(agenda.now, phases.timer, undefined, strike);
      }
    };
  }

  /** Each event of a process is followed by one turn of the event loop, in which its promises run out. */
  readonly #turn = (): void => {
    const { agenda, judge } = this.world;
    this.world.look();
    for (;;) {
      if (judge.violations.length > 0 || this.#isOver()) {
        this.#settled();
        return;
      }
      const entry = agenda.take(Infinity);
      if (entry === undefined) {
        judge.tell('I4', 'nothing is left to happen');
        continue;
      }
      entry.run();
      if (entry.whose) {
        setImmediate(this.#turn);
        return;
      }
    }
  };

  #isOver(): boolean {
    const { agenda, clients, closed, owners, judge } = this.world;
    const { sessionTimeoutMs } = this.#plan;
    switch (this.#at.is) {
      case 'running':
        return false;
      case 'healed': {
        if (agenda.now > this.#at.since + boundOf(this.#plan)) {
          this.#tellPending();
          return true;
        }
        if (clients.some(({ open, process }) => open > 0 || process.isDead)) return false;
        if (closed.some(({ open, process }) => open > 0 && !process.isDead)) return false;
        for (const { client, id, what } of owners.settling.pending.values())
          if (!client.process.isDead) judge.tell('I4', `${id} ${what} is still pending`);
        this.#at = { is: 'settled', since: agenda.now };
        return false;
      }
      case 'settled': {
        const left = this.world.leftovers();
        if (left.length > 0 && agenda.now < this.#at.since + 3 * sessionTimeoutMs + longestIdleMs(this.#plan))
          return false;
        if (left.length > 0) judge.tell('I3', `left on the servers: ${left.join(', ')}`);
        judge.judgeEnd();
        return true;
      }
    }
  }

  #tellPending(): void {
    const { clients, closed, owners, judge } = this.world;
    for (const { client, id, what } of owners.settling.pending.values())
      if (!client.process.isDead) judge.tell('I4', `${id} ${what} has not settled`);
    for (const { name, open, process } of [...clients, ...closed])
      if (open > 0 && !process.isDead) judge.tell('I4', `${name} has ${open} calls that have not ended`);
  }

  #outcome(): Outcome {
    const { agenda, herd, judge, striker, network } = this.world;
    return {
      violations: judge.violations,
      events: agenda.happened,
      messages: network.messages,
      faults: striker.faults,
      grants: judge.grants.length,
      terms: judge.grants.filter(({ owner }) => owner.lock.is === 'election').length,
      writes: judge.writes.done,
      deletionsTold: herd.told,
      deletionsExcused: herd.excused,
      virtualMs: agenda.now - this.#begin,
      history: judge.recorder.events,
    };
  }
}

export interface Outcome {
  readonly violations: readonly Violation[];
  readonly events: number;
  readonly messages: number;
  readonly faults: number;
  readonly grants: number;
  /** The grants of elections. */
  readonly terms: number;
  /** The guarded writes that the servers have done. */
  readonly writes: number;
  /** The events of deletions in queues that clients got, and those that the judge of herds excused. */
  readonly deletionsTold: number;
  readonly deletionsExcused: number;
  readonly virtualMs: number;
  readonly history: readonly HistoryEvent[];
}

type At = { readonly is: 'running' } | { readonly is: 'healed' | 'settled'; readonly since: number };

/** After the last fault, every call must end within this time. */
function boundOf({ sessionTimeoutMs, steps, locks }: Plan): number {
  const holds = steps.reduce((sum, step) => sum + (step.do === 'call' ? 3 * (step.holdMs + 100) : 0), 0);
  return 10 * sessionTimeoutMs + holds + longestIdleMs({ locks }) * steps.length;
}

function longestIdleMs({ locks }: Pick<Plan, 'locks'>): number {
  return Math.max(0, ...locks.map((lock) => (lock.is === 'sticky' ? lock.idleMs : 0)));
}
