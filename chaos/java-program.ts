import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { ensureCurator, javaOptions } from '../lab/programs/interop/curator.ts';
import type { LockPlan } from './lock-plan.ts';
import type { ClientSetup, Order } from './messages.ts';
import type { Program } from './program.ts';

export type JavaPlan = Pick<ClientSetup, 'client' | 'seed' | 'sessionTimeoutMs' | 'locks' | 'owners' | 'file'>;

const source = fileURLToPath(new URL('client/CuratorClient.java', import.meta.url));

/** Java Curator: a Java source file of this project. */
export class JavaProgram implements Program {
  readonly client: string;
  readonly isPeer = true;
  readonly #plan: JavaPlan;
  readonly #classPath: string;

  /**
   * Compiles it into the folder `classes`, so that each start is quick. Resolves with the class path. Throws an error with
   * the reason if there is no Java Curator and it cannot be installed.
   */
  static async compile(classes: string): Promise<string> {
    const jars = await ensureCurator();
    const { status, stderr, error } = spawnSync(
      'java',
      ['-m', 'jdk.compiler/com.sun.tools.javac.Main', '-proc:none', '-cp', jars.join(':'), '-d', classes, source],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`${source} cannot be compiled: ${error?.message ?? stderr}`);
    return [classes, ...jars].join(':');
  }

  /** @param classPath that of {@link compile} */
  constructor(plan: JavaPlan, classPath: string) {
    this.client = plan.client;
    this.#plan = plan;
    this.#classPath = classPath;
  }

  start(incarnation: number, connectString: string): ChildProcess {
    const { client, seed, sessionTimeoutMs, file, owners, locks } = this.#plan;
    const words = [client, incarnation, seed, connectString, sessionTimeoutMs, file, owners, ...locks.map(wordOf)];
    const args = [...javaOptions, '-cp', this.#classPath, 'CuratorClient', ...words.map(String)];
    const child = spawn('java', args, { stdio: ['pipe', 'inherit', 'inherit'] });
    child.stdin.on('error', () => undefined); // 'exit' reports the end of the process
    return child;
  }

  order(child: ChildProcess, order: Order): void {
    if (order.is === 'drain') child.stdin?.write('drain\n');
    if (order.is === 'keep') child.stdin?.write(`keep ${order.ms}\n`);
  }
}

function wordOf(plan: LockPlan): string {
  return plan.is === 'semaphore' ? `semaphore-${plan.maxLeases}:${plan.path}` : `${plan.is}:${plan.path}`;
}
