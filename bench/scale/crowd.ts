import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** Many clients in a few processes. */
export class Crowd implements AsyncDisposable {
  readonly #members: readonly ChildProcess[];
  readonly #clientsEach: number;

  private constructor(members: readonly ChildProcess[], clientsEach: number) {
    this.#members = members;
    this.#clientsEach = clientsEach;
  }

  static async gather({ connectString, processes, clients, sessionTimeoutMs }: CrowdOptions): Promise<Crowd> {
    const clientsEach = Math.ceil(clients / processes);
    const members = Array.from({ length: processes }, () =>
      fork(program, [], { execArgv: ['--import=tsx', '--expose-gc', '--max-old-space-size=12288'] }),
    );
    const crowd = new Crowd(members, clientsEach);
    await crowd.#all({ do: 'connect', connectString, clients: clientsEach, sessionTimeoutMs });
    return crowd;
  }

  /** Resolves when all requests wait in their queues, or hold their lock. */
  async queueUp(requests: readonly Request[]): Promise<void> {
    await Promise.all(
      this.#members.map((member, index) =>
        ask(member, {
          do: 'queue-up',
          requests: requests
            .filter(({ client }) => Math.floor(client / this.#clientsEach) === index)
            .map(({ client, path }) => [client % this.#clientsEach, path] as const),
        }),
      ),
    );
  }

  /** Releases `count` locks one after the other. Returns the milliseconds from each release to the next grant. */
  async handOvers(count: number): Promise<number[]> {
    const took: number[] = [];
    let owners: { path: string; index: number }[] = [];
    while (took.length < count) {
      if (owners.length === 0) {
        const held = await this.#all({ do: 'held' });
        owners = held.flatMap(({ paths = [] }, index) => paths.map((path) => ({ path, index })));
      }
      const [{ path, index }] = owners.splice(Math.floor(owners.length / 2), 1) as [{ path: string; index: number }];
      const startedAt = performance.timeOrigin + performance.now();
      await ask(this.#members[index] as ChildProcess, { do: 'release', path });
      took.push((await this.#granted(path, startedAt)) - startedAt);
    }
    return took;
  }

  /** All processes together: their resident memory, and the CPU time since they began. */
  async measure(): Promise<{ rssBytes: number; cpuMicros: number }> {
    const answers = await this.#all({ do: 'measure' });
    return {
      rssBytes: sum(answers.map(({ rssBytes = NaN }) => rssBytes)),
      cpuMicros: sum(answers.map(({ cpuMicros = NaN }) => cpuMicros)),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = this.#members.map((member) => once(member, 'exit'));
    await this.#all({ do: 'close' }).catch(() => this.#members.forEach((member) => member.kill('SIGKILL')));
    await Promise.all(ended);
  }

  async #granted(path: string, after: number): Promise<number> {
    for (;;) {
      const answers = await this.#all({ do: 'granted-at', path });
      const at = answers.map(({ atMs = NaN }) => atMs).find((atMs) => atMs > after);
      if (at !== undefined) return at;
    }
  }

  #all(task: Task): Promise<Answer[]> {
    return Promise.all(this.#members.map((member) => ask(member, task)));
  }
}

export interface CrowdOptions {
  readonly connectString: string;
  readonly processes: number;
  readonly clients: number;
  readonly sessionTimeoutMs: number;
}

export interface Request {
  readonly client: number;
  readonly path: string;
}

export type Task =
  | { do: 'connect'; connectString: string; clients: number; sessionTimeoutMs: number }
  | { do: 'queue-up'; requests: readonly (readonly [client: number, path: string])[] }
  | { do: 'release' | 'granted-at'; path: string }
  | { do: 'held' | 'measure' | 'close' };

export interface Answer {
  readonly error?: string;
  readonly paths?: readonly string[];
  readonly atMs?: number;
  readonly rssBytes?: number;
  readonly cpuMicros?: number;
}

const program = fileURLToPath(new URL('crowd-process.ts', import.meta.url));

async function ask(member: ChildProcess, task: Task): Promise<Answer> {
  member.send(task);
  const [answer] = (await once(member, 'message')) as [Answer];
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}
