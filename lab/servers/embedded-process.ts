import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { EmbeddedZooKeeperOptions } from '../../src/testing/index.ts';
import type { AdviceError } from './docker/advice.ts';
import { fourLetterWord } from './four-letter-word.ts';
import type { ServerOptions, ZooKeeperServer } from './local-zookeeper.ts';
import { pauseProcess } from './server-process.ts';

const script = fileURLToPath(new URL('embedded-server.ts', import.meta.url));

/**
 * An embedded ZooKeeper in a process of its own, because a test may block its event loop. It stands in for a real server
 * on a machine that has none. Whatever it cannot do throws the advice how to get a real one, and the test is skipped.
 */
export class EmbeddedProcess implements ZooKeeperServer {
  readonly port: number;
  readonly connectString: string;
  readonly secureConnectString: string;
  readonly pid: number;
  readonly #child: ChildProcess;
  readonly #advice: AdviceError;

  static async start(options: ServerOptions, advice: AdviceError): Promise<EmbeddedProcess> {
    const { tickTimeMs = 500, containerCheckMs = 60_000, javaOptions, config, security } = options;
    if (javaOptions ?? config ?? security) throw advice;
    // The harness configures the real server with the same times.
    const times: EmbeddedZooKeeperOptions = {
      tickTimeMs,
      maxSessionTimeoutMs: 60_000,
      containerCheckIntervalMs: containerCheckMs,
    };
    const child = fork(script, [JSON.stringify(times)], {
      execArgv: ['--import=tsx'],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    const ended = once(child, 'exit').then(() => {
      throw new Error('The embedded ZooKeeper ended before it served');
    });
    const [port] = (await Promise.race([once(child, 'message'), ended])) as [number];
    ended.catch(() => undefined);
    // The server ends with this process, so it does not need to keep this process alive.
    child.unref();
    child.channel?.unref();
    return new EmbeddedProcess(child, port, advice);
  }

  private constructor(child: ChildProcess, port: number, advice: AdviceError) {
    this.#child = child;
    this.#advice = advice;
    this.pid = child.pid ?? 0;
    this.port = port;
    this.connectString = `127.0.0.1:${port}`;
    this.secureConnectString = this.connectString;
  }

  command(word: string): Promise<string> {
    if (word === 'conf') throw this.#advice;
    return fourLetterWord('127.0.0.1', this.port, word);
  }

  kill(): Promise<void> {
    throw this.#advice;
  }

  start(): Promise<void> {
    throw this.#advice;
  }

  wipe(): void {
    throw this.#advice;
  }

  backUp(): () => void {
    throw this.#advice;
  }

  pause(): void {
    if (process.platform === 'win32') throw this.#advice; // it has no SIGSTOP
    pauseProcess(this.#child, this.pid);
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.ref();
    this.#child.kill('SIGKILL');
    await ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}
