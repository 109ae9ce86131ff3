import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';
import { testPath } from '../../../lab/test-path.ts';
import { until } from '../../../lab/until.ts';
import type { Order, Report } from './holder-process.ts';
import { recordMargin } from './margins.ts';
import { monotonicMs } from './monotonic.ts';
import { tickTimeMs } from '../../../lab/servers/trio.ts';

const program = fileURLToPath(new URL('holder-process.ts', import.meta.url));

export interface RemoteRivalsOptions {
  readonly sessionTimeoutMs: number;
  /** True if the holder gets the servers' tick as an option. */
  readonly knowTick: boolean;
}

/** A holder in a process of its own, and a waiter in this process. */
export class RemoteRivals implements AsyncDisposable {
  readonly granted: Promise<unknown>;
  readonly #process: ChildProcess;
  readonly #waiter: LockClient;
  readonly #sessionTimeoutMs: number;
  readonly #forget: () => void;
  #grantedAt: number | undefined;

  static async meet(connectString: string, { sessionTimeoutMs, knowTick }: RemoteRivalsOptions): Promise<RemoteRivals> {
    const path = testPath('rivals');
    const args = [connectString, path, `${sessionTimeoutMs}`, ...(knowTick ? [`${tickTimeMs}`] : [])];
    const child = fork(program, args, { execArgv: ['--import=tsx'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const [waiter] = await Promise.all([
      LockClient.connect(connectString, { sessionTimeoutMs }),
      once(child, 'message'),
    ]);
    const mutex = new InterProcessMutex(waiter, path);
    const rivals = new RemoteRivals(child, waiter, mutex, sessionTimeoutMs);
    await until('the waiter is in the queue', async () => (await mutex.participants()).length === 2);
    return rivals;
  }

  private constructor(child: ChildProcess, waiter: LockClient, mutex: InterProcessMutex, sessionTimeoutMs: number) {
    this.#process = child;
    // A stopped child would not notice the end of this process.
    this.#forget = whenProcessEnds(() => child.kill('SIGKILL'));
    this.#waiter = waiter;
    this.#sessionTimeoutMs = sessionTimeoutMs;
    this.granted = mutex.acquire().then(() => (this.#grantedAt = monotonicMs()));
    this.granted.catch(() => undefined); // where the test ends first
  }

  stop(): void {
    this.#process.kill('SIGSTOP');
  }

  go(): void {
    this.#process.kill('SIGCONT');
  }

  /** Blocks the holder until this file exists, or for so many milliseconds. */
  block(until: string | number): void {
    this.#send({ block: until });
  }

  async report(): Promise<Report> {
    this.#send('report');
    const [report] = (await once(this.#process, 'message')) as [Report];
    return report;
  }

  /** Fails unless the holder's first check, when it ran again, found its lock lost. */
  async findsItLost(fault: string): Promise<void> {
    const { lastValidAt, firstLook, isAborted } = await this.report();
    const marginMs = (this.#grantedAt ?? -Infinity) - lastValidAt;
    recordMargin(fault, marginMs);
    expect(firstLook.afterMs, 'milliseconds without a look').to.be.above(this.#sessionTimeoutMs / 2);
    expect(firstLook.isValid, 'isValid at the first look').to.equal(false);
    expect(isAborted, 'whether the signal has aborted').to.equal(true);
    expect(marginMs, 'milliseconds from the last look that found it valid to the next grant').to.be.above(0);
  }

  /** Fails unless the holder kept its lock and its connection although it did not run for so long. */
  async findsItKept(withoutLookMs: number): Promise<void> {
    const { firstLook, isAborted, states } = await this.report();
    expect(firstLook.afterMs, 'milliseconds without a look').to.be.within(withoutLookMs, this.#sessionTimeoutMs);
    expect({ isValid: firstLook.isValid, isAborted, states }).to.deep.equal({
      isValid: true,
      isAborted: false,
      states: [],
    });
    expect(this.#grantedAt, 'when the waiter was granted').to.equal(undefined);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
    this.#forget();
    await this.#waiter.close({ timeoutMs: 200 });
  }

  #send(order: Order): void {
    this.#process.send(order);
  }
}
