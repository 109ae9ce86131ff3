import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isCommand, localFacts } from '../debian-zookeeper.ts';
import { AdviceError } from './advice.ts';
import { chooseEngine } from './choose.ts';
import { ensureCommands } from './debian.ts';
import { askEngine, engineAnswers } from './engine-api.ts';

export interface Engine {
  /** A description for the log, like `process 4711, overlay2`. */
  readonly how: string;
  /** Stops the engine, if it was started here and is not kept. */
  stop(): Promise<void>;
}

const startLimitMs = 60_000;
const stopLimitMs = 30_000;

/** The Docker engine that answers. If none answers, on Debian as root, an engine is installed and started here. */
export async function openEngine({ keep }: { readonly keep: boolean }): Promise<Engine> {
  const choice = chooseEngine({ env: process.env, answers: await engineAnswers(), ...localFacts() });
  if (choice.use === 'nothing') throw new AdviceError(choice.advice);
  if (choice.use === 'start') await ensureCommands('dockerd', 'docker');
  // On a machine with running services, the installation has just started the engine of the package.
  if (choice.use === 'running' || (await engineAnswers()))
    return { how: `found, ${await storageDriver()}`, stop: () => Promise.resolve() };
  const daemon = await Daemon.start(keep);
  const how = `process ${daemon.pid}, ${await storageDriver()}`;
  return keep
    ? { how: `${how}, until \`kill ${daemon.pid}\``, stop: () => Promise.resolve() }
    : { how, stop: () => daemon.stop() };
}

async function storageDriver(): Promise<string> {
  const info = await askEngine('/info', 10_000);
  return (JSON.parse(info?.body ?? '{}') as { Driver?: string }).Driver ?? 'storage unknown';
}

class Daemon {
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #folder: string;

  static async start(keep: boolean): Promise<Daemon> {
    const folder = mkdtempSync(join(tmpdir(), 'dockerd-'));
    const log = openSync(join(folder, 'log'), 'a');
    const [name = '', ...args] = commandLine(keep);
    // The engine has its own process group, because Ctrl-C must leave it running until the containers are removed.
    const child = spawn(name, args, { stdio: ['ignore', log, log], detached: true });
    closeSync(log);
    await once(child, 'spawn');
    const daemon = new Daemon(child, folder);
    if (keep) child.unref();
    try {
      await daemon.#answering();
    } catch (error) {
      await daemon.stop();
      throw error;
    }
    return daemon;
  }

  private constructor(child: ChildProcess, folder: string) {
    if (child.pid === undefined) throw new Error('dockerd was spawned without a process id');
    this.pid = child.pid;
    this.#child = child;
    this.#folder = folder;
  }

  async stop(): Promise<void> {
    if (!this.#hasEnded) {
      const ended = once(this.#child, 'exit');
      this.#child.kill('SIGTERM');
      const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopLimitMs);
      await ended;
      clearTimeout(timer);
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #answering(): Promise<void> {
    const deadline = performance.now() + startLimitMs;
    while (!this.#hasEnded && performance.now() < deadline) {
      if (await engineAnswers()) return;
      await delay(100);
    }
    const log = readFileSync(join(this.#folder, 'log'), 'utf8').trimEnd().split('\n').slice(-10).join('\n');
    throw new AdviceError(
      `dockerd ${this.#hasEnded ? 'ended' : `did not answer within ${startLimitMs} ms`}: start a Docker engine by hand. Its log ends with:\n${log}`,
    );
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }
}

function commandLine(keep: boolean): string[] {
  // The kernel ends the engine if this process is killed with SIGKILL: nothing else could end it and its containers.
  const diesWithParent = !keep && isCommand('setpriv') ? ['setpriv', '--pdeathsig', 'TERM'] : [];
  return [...diesWithParent, 'dockerd', '--ip', '127.0.0.1'];
}
