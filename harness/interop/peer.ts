import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { isCommand } from '../debian-zookeeper.ts';

type Answer =
  { readonly id: number; readonly value: unknown } | { readonly id: number; readonly error: string } | Event;

/** What a peer tells without being asked. */
export interface Event {
  readonly event: string;
  readonly path?: string;
}

interface Pending {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A client of ZooKeeper in a process of its own, that does what it is told: a line of `id owner verb arguments` in, a
 * line of JSON out. Each
 * owner does one thing after another, all of them at the same time.
 */
export class Peer implements AsyncDisposable {
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #pending = new Map<number, Pending>();
  readonly #listeners = new Set<(event: Event) => void>();
  readonly #ended: Promise<string>;
  #asked = 0;

  /** Resolves when its session is there. */
  static async start(name: string, command: readonly string[]): Promise<Peer> {
    const peer = new Peer(name, command);
    await peer.told((event) => event.event === 'ready');
    return peer;
  }

  private constructor(name: string, command: readonly string[]) {
    // By the kernel: where the test process is killed with SIGKILL, nobody else can end it.
    const diesWithParent = isCommand('setpriv') ? ['setpriv', '--pdeathsig', 'KILL'] : [];
    const [file = '', ...args] = [...diesWithParent, ...command];
    this.#name = name;
    this.#child = spawn(file, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    const { stdin, stdout } = this.#child;
    if (!stdin || !stdout) throw new Error(`${name} has no input or no output`);
    stdin.on('error', () => undefined); // its end is told by 'exit'
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

  /** Its next event of that kind; rejects when it ends first. */
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

  owner(name: string): Owner {
    return new Owner((verb, args) => this.#ask(name, verb, args));
  }

  /**
   * SIGKILL: its session stays until the server misses it. Resolves when the process has ended; what it was asked
   * rejects.
   */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** It closes its session, and ends. */
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

/** A thread of a peer, or what is one owner there. */
export class Owner {
  readonly #ask: (verb: string, args: readonly (string | number)[]) => Promise<unknown>;

  constructor(ask: (verb: string, args: readonly (string | number)[]) => Promise<unknown>) {
    this.#ask = ask;
  }

  /** Its znode's path, or true where the peer does not tell it; null if it was not to be had within `timeoutMs`. */
  acquire(kind: string, path: string, timeoutMs = -1): Promise<string | true | null> {
    return this.#ask('acquire', [kind, path, timeoutMs]) as Promise<string | true | null>;
  }

  async release(kind: string, path: string): Promise<void> {
    await this.#ask('release', [kind, path]);
  }

  /** Whether this thread holds it, as far as Curator knows. */
  isOwned(kind: string, path: string): Promise<boolean> {
    return this.#ask('isOwned', [kind, path]) as Promise<boolean>;
  }

  participants(kind: string, path: string): Promise<string[]> {
    return this.#ask('participants', [kind, path]) as Promise<string[]>;
  }

  /** Takes the lock so often, and works each time on the files of {@link Ledger}. */
  async work(kind: string, path: string, folder: string, rounds: number): Promise<void> {
    await this.#ask('work', [kind, path, folder, rounds]);
  }

  /** Writes a SharedCount. */
  async setCount(path: string, count: number): Promise<void> {
    await this.#ask('setCount', [path, count]);
  }

  async makeRevocable(kind: string, path: string): Promise<void> {
    await this.#ask('makeRevocable', [kind, path]);
  }

  async revoke(node: string): Promise<void> {
    await this.#ask('revoke', [node]);
  }
}
