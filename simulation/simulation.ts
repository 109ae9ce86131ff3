import type { HistoryEvent } from '../lab/judge/history.ts';
import type { Violation } from '../lab/judge/violation.ts';
import { phases } from '../lab/virtual/agenda.ts';
import type { Plan, Step } from './plan.ts';
import { startMs, World } from './world.ts';

/** Runs a plan, one event after another, and checks after each. */
export class Simulation {
  readonly world: World;
  readonly #plan: Plan;
  readonly #boundMs: number;
  #at: At = { is: 'running' };

  constructor(plan: Plan) {
    this.#plan = plan;
    this.#boundMs = boundOf(plan);
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
    const { time } = this.world.machine;
    const { steps, prologue = { steps: [], forMs: 0 } } = this.#plan;
    for (const step of prologue.steps) time.add(step.at, phases.socket, () => this.world.perform(step));
    for (const step of steps) time.add(prologue.forMs + step.at, phases.socket, () => this.world.perform(step));
    const last = steps.at(-1)?.at ?? 0;
    time.add(prologue.forMs + last + 1, phases.socket, () => {
      this.world.striker.heal();
      this.#at = { is: 'healed', since: time.agenda.now };
    });
    return new Promise((resolve) => {
      time.afterEach = () => {
        if (this.#goesOn()) return false;
        time.stop();
        resolve();
        return true;
      };
      time.whenIdle = () => {
        this.world.judge.tell('I4', 'nothing is left to happen');
        resolve();
      };
    });
  }

  /** Judges the event that has happened last, when its promises have run out. */
  #goesOn(): boolean {
    const { machine, processes, judge, servers } = this.world;
    const { whose } = machine.time.last;
    judge.losses.look(servers.ensemble.isWhole);
    if (processes.some((process) => process === whose)) this.world.look();
    return judge.violations.length === 0 && !this.#isOver();
  }

  #isOver(): boolean {
    const { machine, clients, closed, owners, judge } = this.world;
    const { agenda } = machine.time;
    const { sessionTimeoutMs } = this.#plan;
    switch (this.#at.is) {
      case 'running':
        return false;
      case 'healed': {
        if (agenda.now > this.#at.since + this.#boundMs) {
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
    const { machine, messages, herd, judge, striker } = this.world;
    const { agenda } = machine.time;
    return {
      violations: judge.violations,
      events: agenda.happened,
      messages,
      faults: striker.faults,
      grants: judge.grants.length,
      terms: judge.grants.filter(({ owner }) => owner.lock.is === 'election').length,
      writes: judge.writes.done,
      deletionsTold: herd.told,
      deletionsExcused: herd.excused,
      virtualMs: agenda.now - startMs,
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
function boundOf(plan: Plan): number {
  const { sessionTimeoutMs, steps } = plan;
  return (
    10 * sessionTimeoutMs + steps.reduce((sum, step) => sum + longestOf(step, plan), longestIdleMs(plan) * steps.length)
  );
}

/** The time that a call may take in a whole network, in milliseconds. */
function longestOf(step: Step, { mostDelayMs }: Plan): number {
  if (step.do === 'call') return 3 * (step.holdMs + 100);
  // On a network of changing pace, the window of a connection is hardly ever larger than its smallest size.
  return step.do === 'burst' ? ((step.locks * requestsOfUse) / smallestWindow) * messagesOfWrite * mostDelayMs : 0;
}

/** An acquire that makes the lock's znode, and its release. */
const requestsOfUse = 5;
const smallestWindow = 16;
/** To the server, to the leader and back, the quorum's two, and the answer. */
const messagesOfWrite = 6;

function longestIdleMs({ locks }: Pick<Plan, 'locks'>): number {
  return Math.max(0, ...locks.map((lock) => (lock.is === 'sticky' ? lock.idleMs : 0)));
}
