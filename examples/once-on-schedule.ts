// A cron job on several hosts, exactly once per tick, with node-cron: start this program on each host.
// node-cron asks its coordinator before each tick. The coordinator waits for the turn, so a host that dies in the middle
// of a tick is replaced in that same tick. The clocks of the hosts may differ: the name of a tick is the scheduled time.
import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import cron, { type RunCoordinator } from 'node-cron';
import zookeeper from 'node-zookeeper-client';
import { LockClient } from 'zookeeper-fair-lock';
import { OncePerTick, type Turn } from './lib/once-per-tick.js';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';
const [host = hostname(), count = '2'] = process.argv.slice(2);

// If a host dies, the others wait for its session to end before one of them does the tick.
const locks = await LockClient.connect(servers, { sessionTimeoutMs: 4_000 });
const app = zookeeper.createClient(servers, { sessionTimeout: 30_000, retries: 0 });
app.connect();

class Coordinator implements RunCoordinator {
  readonly #once = new OncePerTick(locks, app, '/schedule/report');
  readonly #turns = new Map<string, Turn>();
  #begun = 0;
  #idle = (): void => undefined;

  /** Resolves when this host has the turn, or another host has done the tick. */
  async shouldRun(key: string): Promise<boolean> {
    this.#begun += 1;
    try {
      const turn = await this.#once.begin(key);
      if (turn) this.#turns.set(key, turn);
      return turn !== undefined;
    } finally {
      if (!this.#turns.has(key)) this.#ended();
    }
  }

  /** The turn of a tick that this host runs. */
  turn(key: string): Turn {
    const turn = this.#turns.get(key);
    assert.ok(turn);
    return turn;
  }

  /** node-cron calls it when the job has ended, with or without an error. */
  async onComplete(key: string): Promise<void> {
    await this.#turns.get(key)?.end();
    this.#turns.delete(key);
    this.#ended();
  }

  whenIdle(): Promise<void> {
    return new Promise((resolve) => (this.#begun === 0 ? resolve() : (this.#idle = resolve)));
  }

  #ended(): void {
    this.#begun -= 1;
    if (this.#begun === 0) this.#idle();
  }
}

const coordinator = new Coordinator();
const task = cron.createTask(
  '*/2 * * * * *',
  async ({ date }) => {
    const tick = date.toISOString(); // the scheduled time, whatever this host's clock shows
    const turn = coordinator.turn(`report:${tick}`);
    console.log(`${host} runs ${tick}`);
    await report(turn.signal);
    await turn.done((transaction) => transaction.create(`/schedule/report/at-${tick}`, Buffer.from(host)));
    console.log(`${host} has done ${tick}`);
  },
  { name: 'report', distributed: true, runCoordinator: coordinator },
);

/** The job: it stops when the turn is lost. */
async function report(signal: AbortSignal): Promise<void> {
  await setTimeout(300, undefined, { signal });
}

await new Promise<void>((resolve) => {
  let left = Number(count);
  const settled = (): void => {
    left -= 1;
    if (left === 0) resolve();
  };
  task.on('execution:finished', settled);
  task.on('execution:skipped', settled);
  task.on('execution:failed', ({ execution }) => {
    console.error(execution?.error);
    process.exitCode = 1;
    settled();
  });
  void task.start();
  console.log(`${host} has started`);
});
await task.destroy();
await coordinator.whenIdle();
await locks.close();
app.close();
