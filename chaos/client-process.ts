import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { whenProcessEnds } from '../lab/servers/process-end.ts';
import { Link } from './link.ts';
import type { Identity, Order } from './messages.ts';
import type { Program } from './program.ts';

/** One client of a run: its process, which is started again after a kill, and its links to the servers. */
export class ClientProcess {
  readonly links: readonly Link[];
  readonly #program: Program;
  readonly #connectString: string;
  #child: ChildProcess;
  #ended: Promise<unknown>;
  #incarnation = 1;

  static async start(program: Program, serverPorts: readonly number[]): Promise<ClientProcess> {
    const links = await Promise.all(serverPorts.map((port) => Link.to(port)));
    return new ClientProcess(program, links);
  }

  private constructor(program: Program, links: readonly { link: Link; port: number }[]) {
    this.links = links.map(({ link }) => link);
    this.#program = program;
    this.#connectString = links.map(({ port }) => `127.0.0.1:${port}`).join(',');
    [this.#child, this.#ended] = this.#launch();
    whenProcessEnds(() => void this.#child.kill('SIGKILL'));
  }

  get name(): string {
    return this.#program.client;
  }

  get isPeer(): boolean {
    return this.#program.isPeer;
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  order(order: Order): void {
    this.#program.order(this.#child, order);
  }

  async identity(): Promise<Identity | undefined> {
    const answered = this.#answer(2_000);
    this.order({ is: 'identify' });
    return (await answered) as Identity | undefined;
  }

  /** Blocks its event loop; resolves when the loop runs again. */
  async stall(ms: number): Promise<void> {
    const answered = this.#answer(ms + 5_000);
    this.order({ is: 'stall', ms });
    await answered;
  }

  stop(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** Resolves when the process has ended. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  restart(): void {
    this.#incarnation += 1;
    [this.#child, this.#ended] = this.#launch();
  }

  /** Resolves with true if the process ends by itself within the time. */
  async ends(withinMs: number): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => (timer = setTimeout(resolve, withinMs, false)));
    const ended = await Promise.race([this.#ended.then(() => true), late]);
    clearTimeout(timer);
    return ended;
  }

  async close(): Promise<void> {
    await this.kill();
    await Promise.all(this.links.map((link) => link[Symbol.asyncDispose]()));
  }

  /** Undefined if the process does not answer in time. */
  #answer(withinMs: number): Promise<unknown> {
    return once(this.#child, 'message', { signal: AbortSignal.timeout(Math.ceil(withinMs)) }).then(
      ([answer]) => answer as unknown,
      () => undefined,
    );
  }

  #launch(): [ChildProcess, Promise<unknown>] {
    const child = this.#program.start(this.#incarnation, this.#connectString);
    return [child, new Promise((resolve) => child.once('exit', resolve))];
  }
}
