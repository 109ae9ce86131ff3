import { Random } from '../lab/random.ts';
import type { VirtualEnsemble } from '../lab/servers/virtual/virtual-ensemble.ts';
import { phases } from '../lab/virtual/agenda.ts';
import type { VirtualMachine } from '../lab/virtual/bridge.ts';
import { VirtualNetwork } from '../lab/virtual/virtual-network.ts';
import { VirtualProcess } from '../lab/virtual/virtual-process.ts';
import { VirtualTime } from '../lab/virtual/virtual-time.ts';
import { Judge } from './judge.ts';
import { burstPath, Owners } from './owners.ts';
import { isFault, type Call, type Close, type Plan, type ProcessPlan, type Step } from './plan.ts';
import { Recorder } from './recorder.ts';
import { Registry } from './registry.ts';
import { Closed } from './rules/closed.ts';
import { Herd } from './rules/herd.ts';
import { Places } from './rules/places.ts';
import { Quiet } from './rules/quiet.ts';
import { SentOnce } from './rules/sent-once.ts';
import { serversOf } from './servers-of.ts';
import { SimClient } from './sim-client.ts';
import { foldersOf, Striker, type Struck } from './striker.ts';

/** One simulation: the servers, the network, the processes, and the application's calls and the faults of a plan. */
export class World implements Struck {
  readonly machine: VirtualMachine;
  readonly servers: VirtualEnsemble;
  readonly registry: Registry;
  readonly judge: Judge;
  readonly herd: Herd;
  readonly places: Places;
  readonly owners: Owners;
  readonly striker: Striker;
  readonly processes: VirtualProcess[] = [];
  readonly clients: SimClient[] = [];
  /** The clients that were closed, and have successors. */
  readonly closed: SimClient[] = [];
  /** The number of messages that were sent so far, in both directions. */
  messages = 0;
  readonly #plan: Plan;
  readonly #quiet: Quiet;
  readonly #closed: Closed;
  readonly #sentOnce: SentOnce;
  readonly #byProcess: SimClient[][] = [];
  #restarts = 0;

  constructor(plan: Plan) {
    this.#plan = plan;
    const time = new VirtualTime();
    time.waitsForReal = false;
    time.agenda.now = startMs;
    const now = (): number => time.agenda.now;
    this.machine = { time, network: new VirtualNetwork(time, this.#delays(plan)) };
    this.servers = serversOf(plan, this.machine);
    this.registry = new Registry(this.servers.servers.map(({ port }) => port));
    const committed = this.servers.ensemble.committed();
    this.judge = new Judge({
      now,
      committed: () => committed,
      recorder: recorderOf(plan, now),
      locks: plan.locks,
      sessionTimeoutMs: plan.sessionTimeoutMs,
      mostDelayMs: plan.mostDelayMs,
    });
    this.herd = new Herd(this.judge, plan.locks);
    this.places = new Places(this.judge, plan.locks, (path) => committed.get(path));
    this.#quiet = new Quiet(this.judge, plan.locks, plan.sessionTimeoutMs);
    this.#sentOnce = new SentOnce(this.judge);
    this.#closed = new Closed(this.judge, ({ openSockets, lateSockets }) => ({
      open: openSockets.length,
      late: lateSockets.length,
    }));
    this.owners = new Owners(this.judge, plan.locks);
    this.striker = new Striker(plan, this);
    this.#listen();
    this.striker.fillCounts();
    plan.processes.forEach((_, index) => this.restart(index));
  }

  perform(step: Step): void {
    if (isFault(step)) {
      this.striker.strike(step);
      return;
    }
    const client = this.clients[step.client % this.clients.length] as SimClient;
    if (client.process.isDead) return;
    // Open from now on, although a stall may delay the call.
    client.open += 1;
    const begin = (): void => {
      if (step.do === 'call') this.#call(step, client);
      else if (step.do === 'burst') this.owners.burst(step, client);
      else this.#close(step, client);
      client.open -= 1;
    };
    this.machine.time.add(0, phases.socket, begin, { whose: client.process });
  }

  /** Called after each event in which code of a client ran. */
  look(): void {
    this.judge.look();
    this.#quiet.look(this.clients);
    this.#closed.look();
  }

  /** The znodes of all locks. */
  leftovers(): string[] {
    const committed = this.servers.ensemble.committed();
    const folders = [
      ...this.#plan.locks.flatMap((lock) => foldersOf(lock)),
      ...committed.children(burstPath).map((name) => `${burstPath}/${name}`),
    ];
    return folders
      .flatMap((folder) => committed.children(folder).map((name) => `${folder}/${name}`))
      .filter((path) => committed.ownerOf(path) !== 0n);
  }

  clientsOf(process: number): readonly SimClient[] {
    return this.#byProcess[process % this.processes.length] ?? [];
  }

  restart(index: number): void {
    const plan = this.#plan.processes[index] as ProcessPlan;
    const number = (this.#restarts += 1);
    const { clockRate: rate, clockOffsetMs: offsetMs, isBusy = false } = plan;
    const process = new VirtualProcess(`p${index}`, this.machine.time.agenda, { rate, offsetMs });
    if (isBusy) process.turnMs = this.#plan.turnMs ?? 0;
    const random = new Random(this.#plan.seed * 64 + number, 1);
    this.processes[index] = process;
    this.#byProcess[index] = Array.from({ length: plan.clients }, (_, client) =>
      this.#start(`p${index}c${client}`, process, random),
    );
    this.clients.splice(0, this.clients.length, ...this.#byProcess.flat());
  }

  #listen(): void {
    this.servers.ensemble.onCommit(({ changes }) => {
      // Most transactions are heartbeats, which change nothing.
      if (changes.length === 0) return;
      const created = changes.flatMap((change) => (change.is === 'created' ? [change.path] : []));
      const deleted = changes.flatMap((change) => (change.is === 'deleted' ? [change.path] : []));
      for (const path of created) {
        this.judge.writes.created(path);
        const call = this.places.created(path);
        if (call !== undefined) this.judge.calls.created(call);
        this.judge.tenures.created(path);
        this.judge.taken.created(path);
      }
      for (const path of deleted) this.judge.deleted(path);
      this.judge.calls.changed([...created, ...deleted]);
      this.judge.woken.changed(changes.map(({ path }) => path));
      this.herd.changed(created, deleted);
      this.#quiet.changed(created, deleted);
    });
  }

  #start(name: string, process: VirtualProcess, random: Random): SimClient {
    const made = new SimClient(name, process, {
      plan: this.#plan,
      machine: this.machine,
      random,
      registry: this.registry,
      wrote: (client, transaction, isAgain) => {
        this.judge.writes.sent(transaction.body);
        this.#sentOnce.sent(client, transaction);
        if (transaction.op === 'create2' && !isAgain) this.places.asked(transaction.path ?? '', client);
        if (!isAgain) this.#quiet.wrote(client);
        this.#closed.wrote(client);
      },
      answered: (client, request, answer) => this.#sentOnce.answered(client, request, answer),
      deletes: (path, session) => this.herd.givesUp(path, session),
      attaches: (client, session) => this.judge.attaches(client, session),
      gaveUp: (client) => this.judge.losses.gaveUp(client.name),
      heard: (client, { what, path, session, isForgetting }) => {
        if (what === 'children') {
          this.judge.tenures.told(client.name, path);
          return;
        }
        // A holder that has just stopped to watch its znode as a waiter watches it anew soon.
        if (!isForgetting) this.judge.heardDeletion(path, session);
        this.herd.heard(path, session, client, isForgetting);
      },
      opened: (client) => this.judge.losses.opened(client, client.open),
      revoked: (grant) => this.owners.work.revoked(grant),
    });
    void made.connected.then((library) => {
      made.noteUse();
      library.on('state', (state) => {
        made.noteUse();
        this.judge.recorder.state(name, state);
        this.judge.losses.changed(name, state);
      });
      // Earlier than its acquire resolves, and also for a lock that a multi-lock gives back.
      library.on('lock', (event) => {
        if (event.type === 'acquired') this.judge.grantedZnode(event.znode);
        if (event.type === 'lost') this.judge.multiLocks.lost(event.znode);
      });
    });
    this.judge.recorder.started(name, this.#restarts);
    return made;
  }

  #call(call: Call, client: SimClient): void {
    client.noteUse();
    this.owners.begin(call, client);
  }

  #close({ timeoutMs, successorAfterMs }: Close, client: SimClient): void {
    const { client: library, process } = client;
    if (!library || library.host.isClosing) return;
    const closing = library.close({ timeoutMs });
    const settled = this.owners.settling.inTime({ client, id: client.name }, 'close', closing, timeoutMs);
    client.open += 1;
    void settled.then(() => {
      client.open -= 1;
      this.#closed.closed(client, this.judge.grants);
    });
    const succeed = (): void => {
      const index = this.processes.indexOf(process);
      const clients = this.#byProcess[index] ?? [];
      this.closed.push(client);
      this.judge.recorder.left(client.name);
      clients[clients.indexOf(client)] = this.#start(client.name, process, client.random);
      this.clients.splice(0, this.clients.length, ...this.#byProcess.flat());
    };
    this.machine.time.add(successorAfterMs, phases.socket, succeed, { whose: process });
  }

  #delays({ seed, leastDelayMs, mostDelayMs, turnMs = 0 }: Plan): () => number {
    const random = new Random(seed, 0);
    return () => {
      this.messages += 1;
      return random.between(leastDelayMs, mostDelayMs - turnMs);
    };
  }
}

function recorderOf({ seed, sessionTimeoutMs, locks, processes }: Plan, now: () => number): Recorder {
  const recorder = new Recorder(now);
  recorder.events.push({
    t: now(),
    type: 'run',
    seed,
    minutes: 0,
    sessionTimeoutMs,
    paths: locks.map(({ path }) => path),
    clients: processes.flatMap(({ clients }, index) =>
      Array.from({ length: clients }, (_, client) => `p${index}c${client}`),
    ),
    leases: Object.fromEntries(locks.flatMap((lock) => (lock.is === 'semaphore' ? [[lock.path, lock.maxLeases]] : []))),
  });
  return recorder;
}

/** Virtual time begins here. */
export const startMs = 1_000_000;
