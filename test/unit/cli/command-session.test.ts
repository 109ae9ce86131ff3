import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { CommandSession, withDescendants } from '../../../packages/zklock/src/cli/run/command-session.ts';
import { Job } from '../../../packages/zklock/src/cli/run/job.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';
import { until } from '../../../lab/until.ts';
import { runningWith } from '../../cli/support/processes.ts';

/**
 * A session whose only process creates the next one and ends, again and again, until its standard input ends. The parent,
 * which is in another session, inherits the zombies, and reaps them if it is told to. With `groups`, each process makes a
 * group of its own, as `set -m` does.
 */
const relay = (options: { readonly reaps: boolean; readonly groups: boolean }) => `
import ctypes, os, select, signal, sys
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
if ${options.reaps ? 'True' : 'False'}:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    os.write(1, b'%d\\n' % os.getpid())
    while not select.select([0], [], [], 0.001)[0]:
        if os.fork() != 0:
            os._exit(0)
        ${options.groups ? 'os.setpgid(0, 0)' : 'pass'}
        os.write(1, b'next\\n')
    os.write(1, b'over\\n')
    os._exit(0)
while True:
    select.select([], [], [], 60)
`;

describe('the session of a command', function () {
  this.timeout(300_000);

  for (const [what, options] of [
    ['only zombies are left', { reaps: false, groups: false }],
    ['nothing is left of many groups', { reaps: true, groups: true }],
  ] as const)
    it(`lives while its processes replace each other, and has ended when ${what}`, async function () {
      if (process.platform !== 'linux') this.skip();
      const python = spawn('python3', ['-c', relay(options)], { stdio: ['pipe', 'pipe', 'inherit'] });
      const forget = whenProcessEnds(() => python.kill('SIGKILL'));
      try {
        const lines = createInterface(python.stdout)[Symbol.asyncIterator]();
        const session = new CommandSession(Number((await lines.next()).value));
        // As many as the processes that follow. On a busy machine, all looks could come before the next one.
        for (let look = 0; look < 200; look += 1) {
          expect(session.isAlive, `at look ${look}`).to.equal(true);
          expect(session.isSeen, `in the table of look ${look}`).to.equal(true);
          expect((await lines.next()).value).to.equal('next');
        }
        python.stdin.end();
        while ((await lines.next()).value === 'next');
        await session.ended();
      } finally {
        python.kill('SIGKILL');
        forget();
      }
    });

  it('dies as a whole: jobs in groups of their own, and descendants in other sessions', async function () {
    if (process.platform !== 'linux') this.skip();
    const mark = `unit-${process.pid}-${Date.now()}`;
    const jobs = 'trap "" TERM HUP; exec > /dev/null 2>&1; setsid sleep 1000 & set -m; sleep 1000 & wait';
    const job = new Job(['bash', '-c', jobs], { MARK: mark });
    const forget = whenProcessEnds(() => job.processes.kill());
    try {
      job.start();
      const running = () => runningWith(`MARK=${mark}`);
      await until('all run', () => running().length === 3);
      // As long as the lock is held, a daemon may be meant. Its process may run before it has made its session.
      await until('the daemon has a session of its own', () => job.processes.running.length === 2);
      job.processes.terminate();
      expect(job.processes.running).to.have.members(running());
      process.kill(job.session.id, 'SIGKILL');
      expect(await job.exitCode).to.equal(137);
      expect(job.processes.running).to.have.length(2);
      job.processes.kill();
      await job.processes.ended();
      expect(running()).to.deep.equal([]);
    } finally {
      for (const pid of runningWith(`MARK=${mark}`)) process.kill(pid, 'SIGKILL');
      forget();
    }
  });

  it('has as descendants also those whose parents have ended, as long as their session tells where they come from', () => {
    const process = (pid: number, parent: number, session: number) => ({
      pid,
      parent,
      session,
      group: pid,
      isRunning: true,
    });
    const table = [
      process(1, 0, 1),
      process(22, 21, 20), // before its parent in the table
      process(30, 1, 20), // of a parent that has ended
      process(10, 1, 10),
      process(11, 1, 10),
      process(20, 10, 20), // by setsid
      process(21, 20, 20),
      process(40, 1, 40), // of another command
      process(41, 40, 40),
    ];
    const ids = (sessions: number[]) =>
      withDescendants(table, new Set(sessions))
        .map(({ pid }) => pid)
        .sort((a, b) => a - b);
    expect(ids([10])).to.deep.equal([10, 11, 20, 21, 22, 30]);
    expect(ids([50])).to.deep.equal([]);
  });
});
