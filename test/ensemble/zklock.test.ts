import { InterProcessMutex, type LockClient } from '../../src/index.ts';
import { connectInOrder } from '../../lab/lock-clients.ts';
import { testPath } from '../../lab/test-path.ts';
import { useTrio, type Roles, type Trio } from '../../lab/servers/trio.ts';
import type { ZooKeeperServer } from '../../lab/servers/zookeeper-server.ts';
import { expect } from 'chai';
import { diesBeforeTheNextGrant, queueBehind } from '../cli/support/died-before.ts';
import { fromSource, Zklock } from '../cli/support/zklock.ts';

const sessionTimeoutMs = 8_000;

/** Goes on after TERM, in a child of the shell. */
const stubborn = `trap '' TERM; sh -c 'echo ready; while :; do sleep 0.05; done'; echo not reached`;
const obedient = 'echo ready; exec sleep 1000';

interface Fault {
  readonly name: string;
  /** The only server that zklock knows; the waiters know the others. */
  readonly holderOn: 'leader' | 'follower';
  readonly happens: (trio: Trio, roles: Roles) => Promise<unknown>;
}

const faults: readonly Fault[] = [
  {
    name: 'a follower cut off from its leader',
    holderOn: 'follower',
    happens: (trio, roles) => trio.cutFollowerOff(roles, roles[1]),
  },
  { name: 'a leader deposed with its clients', holderOn: 'leader', happens: (trio, roles) => trio.cutLeaderOff(roles) },
  {
    name: 'a link that is silently dead',
    holderOn: 'follower',
    happens: (trio, roles) => trio.cutClientsOff(roles[1]),
  },
  { name: 'a server killed', holderOn: 'follower', happens: (_trio, roles) => roles[1].kill() },
];

describe('the command of zklock run in an ensemble', function () {
  this.timeout(90_000);
  const used = useTrio();

  for (const fault of faults) {
    for (const round of [1, 2])
      it(`is dead before the next grant after ${fault.name} (${round} of 2)`, async () => {
        const roles = await used.trio.whole();
        const commands = [obedient, stubborn, obedient, stubborn];
        const server = fault.holderOn === 'leader' ? roles[0] : roles[1];
        const others = roles.filter((other) => other !== server);
        await using jobs = await Jobs.start(commands, server, others);
        await fault.happens(used.trio, roles);
        await jobs.allDieInTime(fault.name);
      });
  }
});

/** Some commands under locks of their own, and a waiter for each lock. */
class Jobs implements AsyncDisposable {
  readonly #waiter: LockClient;
  readonly #jobs: readonly Job[];

  /** Starts them at different times, so that the fault meets each at another phase between two heartbeats. */
  static async start(
    commands: readonly string[],
    holderOn: ZooKeeperServer,
    waitersOn: readonly ZooKeeperServer[],
  ): Promise<Jobs> {
    const waiter = await connectInOrder(waitersOn, { sessionTimeoutMs });
    const start = async (command: string, index: number) => {
      await new Promise((resolve) => setTimeout(resolve, (index / commands.length) * (sessionTimeoutMs / 6)));
      const path = testPath('zklock-ensemble');
      const args = ['--servers', holderOn.connectString, '--session-timeout', `${sessionTimeoutMs / 1_000}`];
      const zklock = new Zklock(['run', '--json', ...args, '--grace', '0.8', path, '-c', command], {
        program: fromSource,
      });
      await zklock.prints('ready');
      return { zklock, ...(await queueBehind(new InterProcessMutex(waiter, path))) };
    };
    const jobs = await Promise.all(commands.map(start));
    return new Jobs(waiter, jobs);
  }

  private constructor(waiter: LockClient, jobs: readonly Job[]) {
    this.#waiter = waiter;
    this.#jobs = jobs;
  }

  async allDieInTime(fault: string): Promise<void> {
    await Promise.all(
      this.#jobs.map(async ({ zklock, granted }) => {
        await diesBeforeTheNextGrant(fault, await zklock.session(), granted);
        expect(await zklock.ends(), zklock.stderr).to.equal(79);
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#jobs.map(({ zklock }) => zklock[Symbol.asyncDispose]()));
    await this.#waiter.close({ timeoutMs: 200 });
  }
}

interface Job {
  readonly zklock: Zklock;
  readonly granted: Promise<unknown>;
}
