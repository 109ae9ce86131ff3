import { Job } from '../../../src/cli/run/job.ts';
import { Watchdog } from '../../../src/cli/run/watchdog.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';
import { until } from '../../../lab/until.ts';
import { runningWith } from '../../cli/support/processes.ts';

/** A job in a group of its own, one in a session of its own, and a shell that waits for both. All ignore TERM. */
const jobs = `exec bash -c 'trap "" TERM HUP; echo ready; exec > /dev/null 2>&1; setsid sleep 1000 & set -m; sleep 1000 & wait'`;

describe('the watchdog of zklock run', function () {
  this.timeout(60_000);
  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  it('kills the session and its descendants when the time has passed', async () => {
    const mark = `unit-${process.pid}-${Date.now()}`;
    const watchdog = new Watchdog();
    const job = new Job(['/bin/sh', '-c', jobs], { MARK: mark });
    const forget = whenProcessEnds(() => job.processes.kill());
    try {
      watchdog.guard(job.processes, 200);
      watchdog.killIn(300_000);
      job.start();
      await until('both jobs run', () => runningWith(`MARK=${mark}`).length >= 3);
      watchdog.killIn(0);
      await until('all are dead', () => runningWith(`MARK=${mark}`).length === 0);
    } finally {
      for (const pid of runningWith(`MARK=${mark}`)) process.kill(pid, 'SIGKILL');
      watchdog.dismiss();
      forget();
    }
  });
});
