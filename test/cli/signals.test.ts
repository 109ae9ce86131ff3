import { expect } from 'chai';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { passedOn } from '../../packages/zklock/src/cli/run/interrupts.ts';
import { exitCodeOfSignal } from '../../packages/zklock/src/cli/exit-code.ts';
import { allProcesses, isRunning, processOf } from './support/processes.ts';
import { watchdogOf } from './support/watchdog-of.ts';
import { Zklock } from './support/zklock.ts';

describe('signals to zklock run', function () {
  this.timeout(30_000);
  const lab = labOfEachTest('zklock-signals');
  const run = (...args: string[]) => new Zklock(['run', '--json', '--servers', lab.connectString, lab.path, ...args]);

  for (const signal of passedOn) {
    it(`${signal} goes to the command and to its children, and the lock is released when all have ended`, async () => {
      const name = signal.slice(3);
      // The shell runs its own trap when its child has ended.
      const child = `trap 'echo ${name} child; exit 3' ${name}; echo ready; while :; do sleep 0.05; done`;
      await using zklock = run(
        '-c',
        `trap 'echo ${name} parent; exit 3' ${name}; sh -c ${quoted(child)}; echo not reached`,
      );
      await zklock.prints('ready');
      zklock.signal(signal);
      expect(await zklock.ends()).to.equal(3);
      expect(zklock.stdout).to.equal(`ready\n${name} child\n${name} parent\n`);
      expect(await lab.mutex.participants()).to.deep.equal([]);
    });

    it(`${signal} during the wait deletes the znode, and the command is never started`, async () => {
      await using _hold = await lab.mutex.acquire();
      await using zklock = run('--', 'echo', 'started');
      await zklock.tells('waiting');
      zklock.signal(signal);
      expect(await zklock.ends()).to.equal(exitCodeOfSignal(signal));
      expect(await lab.mutex.participants()).to.have.length(1);
      expect(zklock.stdout).to.equal('');
    });
  }

  // hashicorp/consul #1155: a signal that met the grant left a command that nothing watched.
  it('a signal that meets the grant leaves no process behind', async function () {
    this.timeout(90_000);
    for (let round = 0; round < 10; round++) {
      const hold = await lab.mutex.acquire();
      await using zklock = run('--', 'sleep', '1000');
      await zklock.tells('waiting');
      const released = hold.release();
      await new Promise((resolve) => setTimeout(resolve, round)); // another place between grant and start in each round
      zklock.signal('SIGTERM');
      expect(await zklock.ends()).to.equal(143);
      await released;
      if (zklock.events.some(({ event }) => event === 'started'))
        expect((await zklock.session()).isAlive, 'the command').to.equal(false);
      expect(await lab.mutex.participants()).to.deep.equal([]);
    }
  });

  it('zklock ends although its watchdog is stopped', async function () {
    if (process.platform !== 'linux') this.skip();
    await using zklock = run('--', 'sleep', '1000');
    const watchdog = await watchdogOf(zklock.pid);
    process.kill(watchdog, 'SIGSTOP');
    try {
      zklock.signal('SIGTERM');
      expect(await zklock.ends()).to.equal(143);
      expect(await lab.mutex.participants()).to.deep.equal([]);
      await until('the watchdog has ended', () => !isRunning(processOf(watchdog)));
    } finally {
      if (isRunning(processOf(watchdog))) process.kill(watchdog, 'SIGKILL');
    }
  });

  it('Ctrl-Z stops the command, and it goes on when zklock is continued', async () => {
    await using zklock = run('-c', 'i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo $i; sleep 0.02; done');
    await zklock.prints('3\n');
    zklock.signal('SIGTSTP');
    await zklock.tells('stopped');
    const session = await zklock.session();
    await until('the command is stopped', () => isStopped(session.id));
    // A SIGCONT before that would be forgotten by it. A shell waits for the stop, too.
    await until('zklock is stopped', () => processOf(zklock.pid)?.state === 'T');
    const before = zklock.stdout.length;
    zklock.signal('SIGCONT');
    await until('the command goes on', () => zklock.stdout.length > before);
    zklock.signal('SIGTERM');
    expect(await zklock.ends()).to.equal(143);
  });
});

/**
 * A shell that is just starting a program by vfork is in state D until the stopped child goes on. A child that has just
 * ended is in state Z until the stopped shell goes on.
 */
function isStopped(session: number): boolean {
  const states = allProcesses().flatMap((process) => (process.session === session ? [process.state] : []));
  return states.includes('T') && states.every((state) => 'TDZ'.includes(state));
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
