import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Scope } from '../../../packages/zklock/src/cli/run/scope.ts';
import type { RunEvent } from '../../../packages/zklock/src/cli/run/report.ts';
import { SupervisedJob, type Supervision } from '../../../packages/zklock/src/cli/run/supervised-job.ts';
import type { Hold } from '../../../src/mutex/hold.ts';
import { systemClock, type Clock } from '../../../src/support/clock.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';
import { until } from '../../../lab/until.ts';
import { processOf } from '../../cli/support/processes.ts';

describe('the job of zklock run', function () {
  this.timeout(60_000);
  before(function () {
    if (process.platform === 'win32') this.skip();
  });
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'job-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  for (const [what, event, ask] of [
    ['the request to release', 'asked-to-release', ({ job }) => job.askToEnd()],
    ['a signal of an operator', 'signal', ({ pass }) => pass('SIGTERM')],
  ] as const satisfies readonly (readonly [string, RunEvent['event'], (run: Run) => void])[])
    it(`gets ${what} before it is reported, because the report may be a pipe that nobody reads`, async () => {
      const [ready, asked] = [join(folder, 'ready'), join(folder, 'asked')];
      const command = `trap ': > ${asked}; exit 3' TERM; : > ${ready}; while :; do sleep 0.05; done`;
      const run = supervised(['sh', '-c', command], (told) => {
        // As a full pipe does: the process goes on only after the command has got the signal.
        if (told.event === event) expect(blockUntil(asked)).to.equal(true);
      });
      const outcome = run.job.run();
      await until('the command runs', () => existsSync(ready), 50_000);
      ask(run);
      expect(await outcome).to.deep.equal({ is: 'ended', exitCode: 3 });
    });

  for (const [what, ask, end] of [
    ['TERM, also if it is stopped', ({ pass }) => pass('SIGTERM'), 143],
    ['the request to release, also if it is stopped', ({ job }) => job.askToEnd(), 143],
    ['USR1, but only when it goes on', ({ pass }) => pass('SIGUSR1'), undefined],
  ] as const satisfies readonly (readonly [string, (run: Run) => void, number | undefined])[])
    it(`gets ${what}`, async function () {
      if (process.platform !== 'linux') this.skip();
      let session = 0;
      const run = supervised(['sh', '-c', 'kill -s STOP $$; exit 4'], (told) => {
        if (told.event === 'started') ({ session } = told);
      });
      const outcome = run.job.run();
      await until('the command is stopped', () => processOf(session)?.state === 'T', 50_000);
      try {
        ask(run);
        if (end === undefined) {
          expect(processOf(session)?.state).to.equal('T');
          run.pass('SIGTERM');
        }
        await until('the command goes on', () => processOf(session)?.state !== 'T');
      } finally {
        run.pass('SIGCONT');
      }
      expect(await outcome).to.deep.equal({ is: 'ended', exitCode: end ?? 138 });
    });

  it('says that others run only if one was seen', async () => {
    for (const isSeen of [false, true]) {
      const processes = {
        address: '',
        add: (pid: number) => void (processes.address = `${pid}`),
        isAlive: true,
        isSeen,
        ended: () => Promise.resolve(),
      };
      const told: RunEvent[] = [];
      const more = { scope: processes as unknown as Scope };
      await supervised(['true'], (event) => told.push(event), {}, more).job.run();
      expect(told.find(({ event }) => event === 'command-ended')).to.have.property('othersRun', isSeen);
    }
  });

  it('sees no others because other programs start processes', async function () {
    if (process.platform !== 'linux') this.skip();
    const starts = ['-c', 'while :; do for each in 1 2 3 4 5 6 7 8; do (:) & done; wait; done'];
    const busy = [1, 2].map(() => spawn('sh', starts, { stdio: 'ignore' }));
    const forget = whenProcessEnds(() => busy.forEach((shell) => shell.kill('SIGKILL')));
    try {
      const told: RunEvent[] = [];
      for (let run = 0; run < 30; run += 1) await supervised(['true'], (event) => told.push(event)).job.run();
      const ended = told.flatMap((event) => (event.event === 'command-ended' ? [event.othersRun] : []));
      expect(ended).to.deep.equal(Array<boolean>(30).fill(false));
    } finally {
      for (const shell of busy) shell.kill('SIGKILL');
      forget();
    }
  });

  it('leaves no timer behind if the lock is lost while it ends: a later KILL might hit the session of others', async () => {
    const ready = join(folder, 'ready');
    const lost = new AbortController();
    const events: RunEvent['event'][] = [];
    const pending = new Set<object>();
    const clock: Clock = {
      ...systemClock,
      after: (delayMs, run) => {
        const timer = {};
        pending.add(timer);
        const over = (): boolean => pending.delete(timer);
        const cancel = systemClock.after(delayMs, () => {
          over();
          run();
        });
        return () => {
          over();
          cancel();
        };
      },
    };
    let remainingMs = 600_000;
    const hold = {
      signal: lost.signal,
      get remainingMs() {
        return remainingMs;
      },
    };
    const command = ['sh', '-c', `trap '' TERM; : > ${ready}; while :; do sleep 0.05; done`];
    const { job } = supervised(command, ({ event }) => events.push(event), hold, { clock, sessionTimeoutMs: 120 });
    const outcome = job.run();
    await until('the command runs', () => existsSync(ready), 50_000);
    remainingMs = 1_400;
    await until('the job ends', () => events.includes('ending'), 50_000);
    lost.abort(new Error('the lock is lost'));
    expect(await outcome).to.include({ is: 'lost' });
    expect(events.filter((event) => event === 'killed')).to.have.length(1);
    expect([...pending]).to.deep.equal([]);
  });

  it('names a daemon that runs on after a loss', async function () {
    if (process.platform !== 'linux') this.skip();
    const file = join(folder, 'daemon');
    const events: RunEvent[] = [];
    const daemon = `setsid -f sh -c 'echo $$ > ${file}; exec sleep 1000' > /dev/null 2>&1; while [ ! -s ${file} ]; do sleep 0.05; done`;
    const { job } = supervised(['sh', '-c', daemon], (event) => events.push(event), { path: folder, isValid: false });
    expect(await job.run()).to.include({ is: 'lost' });
    const pid = Number(readFileSync(file, 'utf8'));
    process.kill(pid, 'SIGKILL');
    expect(events.at(-1)).to.deep.equal({ event: 'left', processes: [pid] });
  });
});

interface Run {
  readonly job: SupervisedJob;
  readonly pass: (signal: NodeJS.Signals) => void;
}

function supervised(
  command: readonly string[],
  tell: (event: RunEvent) => void,
  hold: Partial<Hold> = {},
  more: Partial<Supervision> = {},
): Run {
  let passTo: (signal: NodeJS.Signals) => void = () => undefined;
  // Its getters must stay, because the guard reads them again.
  const held = Object.defineProperties(
    {
      path: '/locks/a/_c_x-lock-0000000000',
      fencingToken: 1n,
      signal: new AbortController().signal,
      remainingMs: 600_000,
      isValid: true,
    },
    Object.getOwnPropertyDescriptors(hold),
  );
  const job = new SupervisedJob({
    hold: held,
    plan: { path: '/locks/a', command },
    times: { graceMs: 1_000, marginMs: 500 },
    sessionTimeoutMs: 600_000,
    clock: systemClock,
    interrupts: { passTo: (target: (signal: NodeJS.Signals) => void) => (passTo = target) },
    report: { tell },
    io: { onSignal: () => () => undefined },
    ...more,
  } as unknown as Supervision);
  return { job, pass: (signal) => passTo(signal) };
}

function blockUntil(file: string): boolean {
  const wait = 'for try in $(seq 400); do [ -e "$0" ] && exit 0; sleep 0.05; done; exit 1';
  return spawnSync('sh', ['-c', wait, file]).status === 0;
}
