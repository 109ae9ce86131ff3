import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { Job } from '../../../packages/zklock/src/cli/run/job.ts';
import { Watchdog } from '../../../packages/zklock/src/cli/run/watchdog.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';
import { until } from '../../../lab/until.ts';
import { isRunning, processOf, runningWith } from '../../cli/support/processes.ts';
import { hasParentDeathSignal, watchdogOf } from '../../cli/support/watchdog-of.ts';

const supervisor = fileURLToPath(new URL('support/supervisor.ts', import.meta.url));

/** A job in a group of its own, one in a session of its own, and a shell that waits for both. All ignore TERM. */
const jobs = `exec bash -c 'trap "" TERM HUP; echo ready; exec > /dev/null 2>&1; setsid sleep 1000 & set -m; sleep 1000 & wait'`;

describe('the watchdog of zklock run', function () {
  this.timeout(60_000);
  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  for (const pkill of ['that works', 'that fails'])
    it(`kills the session and its descendants when the time has passed, also if somebody has stopped it before, with a pkill ${pkill}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'pkill-'));
      const { PATH } = process.env;
      if (pkill === 'that fails') {
        writeFileSync(join(folder, 'pkill'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
        process.env['PATH'] = `${folder}:${PATH}`;
      }
      const mark = `unit-${process.pid}-${Date.now()}`;
      const watchdog = new Watchdog();
      process.env['PATH'] = PATH;
      const shell = await watchdogOf(process.pid);
      process.kill(shell, 'SIGSTOP');
      await until('the watchdog is stopped', () => processOf(shell)?.state === 'T');
      const job = new Job(['/bin/sh', '-c', jobs], { MARK: mark });
      const forget = whenProcessEnds(() => job.processes.kill());
      try {
        watchdog.guard(job.processes, 200);
        watchdog.killIn(300_000);
        job.start();
        await until('both jobs run', () => runningWith(`MARK=${mark}`).length >= 3);
        process.kill(shell, 'SIGSTOP');
        watchdog.killIn(0);
        await until('all are dead', () => runningWith(`MARK=${mark}`).length === 0);
      } finally {
        for (const pid of runningWith(`MARK=${mark}`)) process.kill(pid, 'SIGKILL');
        watchdog.dismiss();
        forget();
        rmSync(folder, { recursive: true });
      }
    });

  it('ends the session if the supervisor is killed while the watchdog is stopped, because the kernel continues it', async function () {
    if (!hasParentDeathSignal) this.skip();
    const mark = `unit-${process.pid}-${Date.now()}`;
    const child = spawn(process.execPath, ['--import=tsx', supervisor, jobs], {
      env: { ...process.env, MARK: mark },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const forget = whenProcessEnds(() => child.kill('SIGKILL'));
    try {
      const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
      expect((await lines.next()).value).to.equal('ready');
      await until('both jobs run', () => runningWith(`MARK=${mark}`).length >= 4); // the supervisor, too
      const watchdog = await watchdogOf(Number(child.pid));
      process.kill(watchdog, 'SIGSTOP');
      await until('the watchdog is stopped', () => processOf(watchdog)?.state === 'T');
      child.kill('SIGKILL');
      await until('all are dead', () => runningWith(`MARK=${mark}`).length === 0);
      await until('the watchdog has ended', () => !isRunning(processOf(watchdog)));
    } finally {
      child.kill('SIGKILL');
      for (const pid of runningWith(`MARK=${mark}`)) process.kill(pid, 'SIGKILL');
      forget();
    }
  });
});
