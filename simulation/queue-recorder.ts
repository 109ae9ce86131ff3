import type { LockEvent } from '../src/index.ts';
import { dataModule, quoted, type Model } from './clock-recorder.ts';
import type { Plan } from './plan.ts';
import type { World } from './world.ts';

/** The state of the queue of a mutex at one moment, as far as a run shows it. A znode is its number in the order of the creates. */
interface Shown {
  /** The process of each znode that was ever created. */
  readonly owners: readonly string[];
  readonly live: ReadonlySet<number>;
  readonly held: ReadonlySet<number>;
  /** The number of the calls that have released the lock, or have given up. */
  readonly done: number;
}

/** Records what a run shows of the queue of its first lock, a plain mutex. Each process has one client. */
export class QueueRecorder {
  readonly #world: World;
  readonly #folder: string;
  readonly #numbers = new Map<string, number>();
  readonly #clients = new Map<bigint, string>();
  readonly #states: { readonly shown: Shown; readonly event: number | undefined }[] = [];
  #shown: Shown = { owners: [], live: new Set(), held: new Set(), done: 0 };

  constructor(world: World, folder: string) {
    this.#world = world;
    this.#folder = `${folder}/`;
    world.servers.ensemble.onCommit(({ sessionId, changes }) => {
      for (const { client, name } of world.clients) if (client) this.#clients.set(client.session.id, name);
      const ours = changes.filter(({ path }) => path.startsWith(this.#folder));
      for (const change of ours) if (change.is === 'created') this.#created(change.path, sessionId);
      const gone = ours.flatMap(({ is, path }) => (is === 'deleted' ? [this.#numberOf(path)] : []));
      this.#show({ live: without(this.#shown.live, gone) }, undefined);
    });
    for (const { connected } of world.clients) void connected.then((client) => client.on('lock', this.#told));
  }

  /** The states in the order in which they were shown. */
  get states(): readonly Shown[] {
    return this.#states.map(({ shown }) => shown);
  }

  readonly #told = (event: LockEvent): void => {
    const { held, done } = this.#shown;
    // A release that hands the lock over is one step: both events are of one turn.
    const turn = this.#world.machine.time.agenda.happened;
    switch (event.type) {
      case 'acquired':
        return this.#show({ held: new Set([...held, this.#numberOf(event.znode)]) }, turn);
      case 'released':
        return this.#show({ held: without(held, [this.#numberOf(event.znode)]), done: done + 1 }, turn);
      case 'lost':
        return this.#show({ held: without(held, [this.#numberOf(event.znode)]) }, turn);
      case 'timed-out':
        this.#show({ done: done + 1 }, turn);
        return;
      default:
        // Not seen in the queue.
        return;
    }
  };

  #created(path: string, session: bigint): void {
    const znode = this.#numbers.size + 1;
    this.#numbers.set(path, znode);
    const { owners, live } = this.#shown;
    const owner = this.#clients.get(session) ?? 'nobody';
    this.#show({ owners: [...owners, owner], live: new Set([...live, znode]) }, undefined);
  }

  #numberOf(path: string): number {
    return this.#numbers.get(path) ?? 0;
  }

  #show(change: Partial<Shown>, turn: number | undefined): void {
    this.#shown = { ...this.#shown, ...change };
    if (turn !== undefined && this.#states.at(-1)?.event === turn) this.#states.pop();
    const before = this.#states.at(-1)?.shown;
    if (before === undefined || textOf(before) !== textOf(this.#shown))
      this.#states.push({ shown: this.#shown, event: turn });
  }
}

/** The module with which TLC searches a behaviour of Queue that shows these states. */
export function queueModel(plan: Plan, states: readonly Shown[]): Model {
  const homes = plan.steps.flatMap((step) => (step.do === 'call' ? [quoted(`p${step.client}c0`)] : []));
  const faults = plan.steps.filter((step) => step.do !== 'call' || step.timeoutMs !== undefined).length;
  const intrudes = plan.steps.some((step) => step.do === 'delete');
  const znodes = Math.max(...states.map(({ owners }) => owners.length));
  const trace = states.map(textOf).join(',\n  ');
  return {
    of: 'Queue',
    data: dataModule(
      'Queue',
      `TraceHome == <<${homes.join(', ')}>>\nIntrudes == ${intrudes ? 'TRUE' : 'FALSE'}\nTrace == <<${trace}>>`,
    ),
    config: [
      'CONSTANTS',
      '  Home <- TraceHome',
      `  Most = ${znodes}`,
      `  Faults = ${faults}`,
      '  Rule = "real"',
      'SPECIFICATION TraceSpec',
      'INVARIANT NeverMatched',
      'CHECK_DEADLOCK FALSE',
      '',
    ].join('\n'),
  };
}

function textOf({ owners, live, held, done }: Shown): string {
  const set = (numbers: ReadonlySet<number>): string => `{${[...numbers].sort((a, b) => a - b).join(', ')}}`;
  return `[owners |-> <<${owners.map(quoted).join(', ')}>>, live |-> ${set(live)}, held |-> ${set(held)}, done |-> ${done}]`;
}

function without(set: ReadonlySet<number>, gone: readonly number[]): ReadonlySet<number> {
  return gone.length === 0 ? set : new Set([...set].filter((each) => !gone.includes(each)));
}
