import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { giveUpPort, keepPort, PortTakenError } from './free-port.ts';
import { fourLetterWord, serverMode } from './four-letter-word.ts';
import { whenProcessEnds } from './process-end.ts';
import { securityConfig, securityJavaOptions, type Security } from './security.ts';
import { isOverTls } from './tls-front.ts';
import { ServerProcess } from './server-process.ts';
import type { KeeperVersion } from './virtual/keeper-desk.ts';
import { zooKeeperCommandLine, type Jvm, type mainClass } from './zookeeper-process.ts';

type Config = Readonly<Record<string, string | number>>;

export interface ServerOptions {
  /** @default 500 */
  tickTimeMs?: number;
  /** The interval at which the server looks for empty containers. @default ZooKeeper's, one minute */
  containerCheckMs?: number;
  /** 'usual' as users run it, also with every change written through to the disk. @default 'small' */
  jvm?: Jvm;
  /** Extra arguments of `java`, for example `-Dzookeeper.extendedTypesEnabled=true`. */
  javaOptions?: string[];
  /** Lines of `zoo.cfg`, which override the defaults. */
  config?: Config;
  /** TLS and SASL. @default TLS on the same port if the tests run over TLS, else neither */
  security?: Security;
  /** The most answers that one connection gets in a second. Only in the virtual world. @default no limit */
  answersPerSecond?: number;
  /** The ZooKeeper that an embedded server imitates. Only in the virtual world. @default '3.8' */
  version?: '3.8' | '3.9';
  /** An imitation of this ClickHouse Keeper. Only in the virtual world. @default ZooKeeper */
  keeper?: KeeperVersion;
}

/** A ZooKeeper server in its own process, on 127.0.0.1. */
export interface ZooKeeperServer extends AsyncDisposable {
  readonly port: number;
  readonly connectString: string;
  /** The place of TLS, on a port of its own or on the same one. The certificate is for `localhost` and `127.0.0.1`. */
  readonly secureConnectString: string;
  /** The process id. Throws while the server does not run. */
  readonly pid: number;
  /** Sends a four letter word. Rejects after two seconds of silence. */
  command(word: string): Promise<string>;
  /** Sends SIGKILL. Resolves when the process has ended. The data stays. */
  kill(): Promise<void>;
  /** Starts the server again with the same port and data. Resolves when it serves. */
  start(): Promise<void>;
  /** Deletes the data of a stopped server, which then starts as a new one. */
  wipe(): void;
  /** Copies the data of a stopped server. Returns a function that restores the copy while the server is stopped. */
  backUp(): () => void;
  /** Sends SIGSTOP: the server keeps its connections and answers nothing. */
  pause(): void;
  resume(): void;
  /** Ends the server, paused or not, and deletes its data. Idempotent. */
  stop(): Promise<void>;
}

export interface Place {
  readonly main: keyof typeof mainClass;
  readonly port: number;
  /** The port for TLS, if it is another one. */
  readonly securePort?: number;
  /** The number of the server in an ensemble. */
  readonly id?: number;
}

type State = { at: 'new' } | { at: 'started'; process: ServerProcess } | { at: 'removed' };

const startLimitMs = 30_000;
const pollMs = 25;

/** A server with its folder: a single server, or a member of an ensemble. */
export class LocalZooKeeper implements ZooKeeperServer {
  readonly port: number;
  readonly connectString: string;
  readonly secureConnectString: string;
  readonly #security: Security;
  readonly #directory: string;
  readonly #main: Place['main'];
  readonly #jvm: Jvm;
  readonly #javaOptions: readonly string[];
  readonly #forget: () => void;
  #state: State = { at: 'new' };

  constructor(place: Place, options: ServerOptions, extraConfig: Config = {}) {
    this.port = place.port;
    this.connectString = `127.0.0.1:${place.port}`;
    this.secureConnectString = `localhost:${place.securePort ?? place.port}`;
    this.#security = options.security ?? (isOverTls ? { tls: 'same-port' } : {});
    this.#main = place.main;
    this.#jvm = options.jvm ?? 'small';
    this.#directory = mkdtempSync(join(tmpdir(), 'zookeeper-'));
    this.#javaOptions = [...javaOptions(options), ...securityJavaOptions(this.#security, this.#directory)];
    const dataDirectory = this.#dataDirectory;
    mkdirSync(dataDirectory);
    if (place.id !== undefined) writeFileSync(join(dataDirectory, 'myid'), `${place.id}\n`);
    writeFileSync(
      join(this.#directory, 'zoo.cfg'),
      configuration(place.port, dataDirectory, options, {
        ...securityConfig(this.#security, place.securePort),
        ...extraConfig,
      }),
    );
    this.#forget = whenProcessEnds(() => this.#abandon());
  }

  get pid(): number {
    return this.#running('has no process id').pid;
  }

  command(word: string): Promise<string> {
    return fourLetterWord('127.0.0.1', this.port, word);
  }

  async start(): Promise<void> {
    if (this.#state.at === 'removed') throw new Error(`${this.connectString} was stopped, and its data removed`);
    if (this.#state.at === 'started' && !this.#state.process.hasEnded)
      throw new Error(`${this.connectString} is running already`);
    const process = await ServerProcess.spawn(
      this.#directory,
      zooKeeperCommandLine({
        directory: this.#directory,
        main: this.#main,
        jvm: this.#jvm,
        javaOptions: this.#javaOptions,
        isOverTls: this.#security.tls !== undefined,
      }),
    );
    this.#state = { at: 'started', process };
    try {
      await this.#serving(process);
    } catch (error) {
      await this.kill();
      throw error;
    }
  }

  async kill(): Promise<void> {
    if (this.#state.at !== 'started') return;
    keepPort(this.port);
    await this.#state.process.kill();
  }

  wipe(): void {
    this.#notRunning('cannot be wiped');
    rmSync(join(this.#dataDirectory, 'version-2'), { recursive: true, force: true });
  }

  backUp(): () => void {
    this.#notRunning('cannot be copied');
    const copy = mkdtempSync(join(this.#directory, 'backup-'));
    cpSync(this.#dataDirectory, copy, { recursive: true });
    return () => {
      this.wipe();
      cpSync(copy, this.#dataDirectory, { recursive: true });
    };
  }

  pause(): void {
    this.#running('cannot be paused').pause();
  }

  resume(): void {
    this.#running('cannot be resumed').resume();
  }

  async stop(): Promise<void> {
    await this.kill();
    giveUpPort(this.port);
    this.#state = { at: 'removed' };
    this.#removeData();
    this.#forget();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #serving(process: ServerProcess): Promise<void> {
    const deadline = performance.now() + startLimitMs;
    while (performance.now() < deadline) {
      const serves = await Promise.race([this.#serves(), process.ended]);
      if (process.hasEnded) throw await startFailure(this.connectString, process);
      if (serves === true) return;
      await delay(pollMs);
    }
    throw new Error(
      `ZooKeeper at ${this.connectString} did not serve within ${startLimitMs} ms:\n${process.logTail()}`,
    );
  }

  async #serves(): Promise<boolean> {
    if ((await serverMode('127.0.0.1', this.port)) === undefined) return false;
    // If a server of another test run got the port, that server answers, while ours is about to end.
    const configuration = await this.command('conf').catch(() => '');
    return configuration.includes(this.#dataDirectory);
  }

  #abandon(): void {
    if (this.#state.at === 'started') void this.#state.process.kill();
    this.#removeData();
  }

  #removeData(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }

  get #dataDirectory(): string {
    return join(this.#directory, 'data');
  }

  #notRunning(problem: string): void {
    if (this.#state.at === 'started' && !this.#state.process.hasEnded)
      throw new Error(`${this.connectString} ${problem}: it is running`);
  }

  #running(problem: string): ServerProcess {
    if (this.#state.at !== 'started' || this.#state.process.hasEnded)
      throw new Error(`${this.connectString} ${problem}: it is not running`);
    return this.#state.process;
  }
}

async function startFailure(name: string, process: ServerProcess): Promise<Error> {
  const log = process.logTail();
  const message = `ZooKeeper at ${name} ended while starting (${await process.ended}):\n${log}`;
  return /BindException|Address already in use/.test(log) ? new PortTakenError(message) : new Error(message);
}

function javaOptions({ containerCheckMs, jvm = 'small', javaOptions = [] }: ServerOptions): string[] {
  // A test kills servers, never the machine. A disk that is busy for a second would end sessions of a few seconds.
  const sync = jvm === 'usual' ? [] : ['-Dzookeeper.forceSync=no'];
  const check = containerCheckMs === undefined ? [] : [`-Dznode.container.checkIntervalMs=${containerCheckMs}`];
  return [...sync, ...check, ...javaOptions];
}

function configuration(port: number, dataDirectory: string, options: ServerOptions, extra: Config): string {
  const lines = {
    tickTime: options.tickTimeMs ?? 500,
    dataDir: dataDirectory,
    clientPort: port,
    clientPortAddress: '127.0.0.1',
    maxClientCnxns: 0,
    // The default is 20 ticks: with short ticks a session of 30 s would not be possible.
    maxSessionTimeout: 60_000,
    'admin.enableServer': 'false',
    '4lw.commands.whitelist': '*',
    ...extra,
    ...options.config,
  };
  return Object.entries(lines)
    .map(([key, value]) => `${key}=${value}\n`)
    .join('');
}
