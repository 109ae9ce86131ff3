import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { ensureCurator } from '../../lab/programs/interop/curator.ts';
import { AdviceError } from '../../lab/servers/docker/advice.ts';
import { addressesOf, type Addresses } from '../places.ts';
import { maxLeases, writerPauseMs, type Outcome, type Peer, type Scenario } from './peer.ts';

const source = fileURLToPath(new URL('CuratorPeer.java', import.meta.url));

/** Java Curator, run from source, in a process of its own. */
export class Curator implements Peer {
  readonly #addresses: Addresses;
  readonly #java: ChildProcess;
  readonly #lines: Interface;

  /** Installs it if it is missing. Resolves with the reason if that is not possible. */
  static async missing(): Promise<string | undefined> {
    try {
      await ensureCurator();
      return undefined;
    } catch (error) {
      if (error instanceof AdviceError) return error.message;
      throw error;
    }
  }

  static async start(addresses: Addresses): Promise<Curator> {
    const java = spawn(
      'java',
      ['-Dorg.slf4j.simpleLogger.defaultLogLevel=error', '-cp', (await ensureCurator()).join(':'), source],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    );
    const curator = new Curator(addresses, java);
    await curator.#line();
    return curator;
  }

  private constructor(addresses: Addresses, java: ChildProcess) {
    this.#addresses = addresses;
    this.#java = java;
    if (java.stdout === null) throw new Error('java has no output');
    this.#lines = createInterface({ input: java.stdout });
  }

  async run({ name, kind = 'mutex', owners, sessions, locks, place }: Scenario, durationMs: number): Promise<Outcome> {
    const answered = this.#line();
    this.#java.stdin?.write(
      `${addressesOf(this.#addresses, place).join(',')} ${name.replaceAll(' ', '-')} ${kind} ${owners} ${sessions} ${locks} ${durationMs} ${maxLeases} ${writerPauseMs}\n`,
    );
    return JSON.parse(await answered) as Outcome;
  }

  #line(): Promise<string> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null): void =>
        reject(new Error(`Java Curator ended with exit code ${code ?? '?'}`));
      this.#java.once('exit', ended);
      this.#lines.once('line', (line) => {
        this.#java.off('exit', ended);
        resolve(line);
      });
    });
  }

  async close(): Promise<void> {
    const ended = once(this.#java, 'exit');
    this.#java.stdin?.end();
    await ended;
  }
}
