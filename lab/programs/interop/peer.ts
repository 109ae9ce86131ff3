import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isCommand } from '../../servers/debian-zookeeper.ts';

type Answer =
  { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string } | Event;

/** A message that a peer sends without a request. */
export interface Event {
  readonly event: string;
  readonly version?: string;
  readonly path?: string;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A ZooKeeper client in its own process that executes commands: its input is a line of `id owner verb arguments`, its
 * output is a line of JSON. Each owner executes its commands one after another, and the owners run concurrently.
 */
export class Peer implements AsyncDisposable {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(event: Event) => void>();
  readonly #ended: Promise<string>;
  #asked = 0;
  #version = 'unknown';

  /** Resolves when the session of the peer is connected. */
  static async start(name: string, command: readonly string[]): Promise<Peer> {
    const peer = new Peer(name, command);
    const { version } = await peer.told((event) => event.event === 'ready');
    if (version !== undefined) peer.#version = version;
    return peer;
  }

  private constructor(name: string, command: readonly string[]) {
    // The kernel ends the peer if the test process is killed with SIGKILL: nothing else could end it.
    const diesWithParent = isCommand('setpriv') ? ['setpriv', '--pdeathsig', 'KILL'] : [];
    const [file = '', ...args] = [...diesWithParent, ...command];
    this.#name = name;
    this.#child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const { stdin, stdout } = this.#child;
    if (!stdin || !stdout) throw new Error(`${name} has no input or no output`);
    stdin.on('error', () => undefined); // 'close' reports the end of the process
    createInterface({ input: stdout }).on('line', (line) => this.#heard(JSON.parse(line) as Answer));
    this.#ended = new Promise((resolve) => {
      this.#child.once('error', (error) => resolve(error.message));
      this.#child.once('close', (code, signal) => resolve(`exit code ${code ?? signal ?? '?'}`));
    });
    void this.#ended.then((how) => {
      for (const { reject } of this.#pending.values()) reject(new Error(`${name} ended: ${how}`));
      this.#pending.clear();
    });
  }

  /** The next event that matches; rejects if the peer ends first. */
  told(isIt: (event: Event) => boolean): Promise<Event> {
    return new Promise((resolve, reject) => {
      const listener = (event: Event): void => {
        if (!isIt(event)) return;
        this.#listeners.delete(listener);
        resolve(event);
      };
      this.#listeners.add(listener);
      void this.#ended.then((how) => reject(new Error(`${this.#name} ended: ${how}`)));
    });
  }

  /** The version of its ZooKeeper client, as that says. */
  get version(): string {
    return this.#version;
  }

  owner(name: string): Owner {
    return new Owner((verb, args) => this.#ask(name, verb, args));
  }

  /**
   * Sends SIGKILL: the session stays until the server expires it. Resolves when the process has ended; its pending
   * commands reject.
   */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Lets the peer close its session and end. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    await this.#ended;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #ask(owner: string, verb: string, args: readonly (string | number)[]): Promise<unknown> {
    const id = (this.#asked += 1);
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        resolve,
        reject: (error) => reject(new Error(`${this.#name}, ${verb} ${args.join(' ')}: ${error.message}`)),
      });
      this.#child.stdin?.write(`${[id, owner, verb, ...args].join(' ')}\n`);
    });
  }

  #heard(answer: Answer): void {
    if ('event' in answer) {
      for (const listener of [...this.#listeners]) listener(answer);
      return;
    }
    const asked = this.#pending.get(answer.id);
    this.#pending.delete(answer.id);
    if ('error' in answer) asked?.reject(new Error(answer.error));
    else asked?.resolve(answer.value);
  }
}

/** An owner of a peer: a thread in Java and in kazoo. */
export class Owner {
  readonly #ask: (verb: string, args: readonly (string | number)[]) => Promise<unknown>;

  constructor(ask: (verb: string, args: readonly (string | number)[]) => Promise<unknown>) {
    this.#ask = ask;
  }

  /**
   * The path of its znode, or true if the peer does not report it; null if the lock was not acquired within
   * `timeoutMs`.
   */
  acquire(kind: string, path: string, timeoutMs = -1): Promise<string | true | null> {
    return this.#ask('acquire', [kind, path, timeoutMs]) as Promise<string | true | null>;
  }

  async release(kind: string, path: string): Promise<void> {
    await this.#ask('release', [kind, path]);
  }

  /** True if this thread holds the lock according to Curator. */
  isOwned(kind: string, path: string): Promise<boolean> {
    return this.#ask('isOwned', [kind, path]) as Promise<boolean>;
  }

  participants(kind: string, path: string): Promise<string[]> {
    return this.#ask('participants', [kind, path]) as Promise<string[]>;
  }

  /** Acquires the lock this number of times, and works each time on the files of {@link Ledger}. */
  async work(kind: string, path: string, folder: string, rounds: number): Promise<void> {
    await this.#ask('work', [kind, path, folder, rounds]);
  }

  /** Writes a SharedCount. */
  async setCount(path: string, count: number): Promise<void> {
    await this.#ask('setCount', [path, count]);
  }

  /** Java only: the id of an election's leader, as Java sees it. */
  leader(kind: string, path: string): Promise<string> {
    return this.#ask('leader', [kind, path]) as Promise<string>;
  }

  async makeRevocable(kind: string, path: string): Promise<void> {
    await this.#ask('makeRevocable', [kind, path]);
  }

  async revoke(node: string): Promise<void> {
    await this.#ask('revoke', [node]);
  }
}
