import { virtualMachine } from '../world.ts';
import { startVirtual } from './start-virtual.ts';
import { EmbeddedZooKeeper } from '../../src/testing/index.ts';
import { fourLetterWord } from './four-letter-word.ts';
import type { ServerOptions, ZooKeeperServer } from './local-zookeeper.ts';

/**
 * An embedded ZooKeeper in this process, with TEST_SERVERS=embedded: it stands in for a real server where that adds
 * nothing but time. A test that needs what it lacks fails, and has to say so: `ownProcess` of `ServerOptions`.
 */
export class EmbeddedHere implements ZooKeeperServer {
  readonly port: number;
  readonly connectString: string;
  readonly secureConnectString: string;
  readonly #zk: EmbeddedZooKeeper;

  static isEnoughFor({ javaOptions, config, security, ownProcess = false }: ServerOptions): boolean {
    return javaOptions === undefined && config === undefined && security === undefined && !ownProcess;
  }

  static async start({ tickTimeMs = 500, containerCheckMs = 60_000 }: ServerOptions = {}): Promise<EmbeddedHere> {
    // The harness configures the real server with the same times.
    const options = { tickTimeMs, maxSessionTimeoutMs: 60_000, containerCheckIntervalMs: containerCheckMs };
    return new EmbeddedHere(
      await (virtualMachine ? startVirtual(virtualMachine, options) : EmbeddedZooKeeper.start(options)),
    );
  }

  private constructor(zk: EmbeddedZooKeeper) {
    this.#zk = zk;
    this.port = zk.port;
    this.connectString = zk.connectString;
    this.secureConnectString = this.connectString;
  }

  get pid(): number {
    throw needsReal('process id');
  }

  command(word: string): Promise<string> {
    if (word === 'conf') throw needsReal('configuration');
    return fourLetterWord('127.0.0.1', this.port, word);
  }

  kill(): Promise<void> {
    throw needsReal('kill');
  }

  start(): Promise<void> {
    throw needsReal('start');
  }

  wipe(): void {
    throw needsReal('wipe');
  }

  backUp(): () => void {
    throw needsReal('backUp');
  }

  pause(): void {
    this.#zk.pause();
  }

  resume(): void {
    this.#zk.resume();
  }

  stop(): Promise<void> {
    return this.#zk.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

function needsReal(what: string): Error {
  return new Error(`An embedded ZooKeeper has no ${what}: set \`ownProcess\` of the server's options`);
}
