import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { InterProcessMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { diesBeforeTheNextGrant, queueBehind } from './support/died-before.ts';
import { controlGroups, mayHaveScopes } from './support/control-groups.ts';
import { allProcesses, isRunning, processOf, runningWith } from './support/processes.ts';
import { hasParentDeathSignal, watchdogOf } from './support/watchdog-of.ts';
import { Zklock } from './support/zklock.ts';

const bin = fileURLToPath(new URL('../../packages/zklock/bin/zklock.cjs', import.meta.url));

/** Goes on after the signals that end others, and tells its number. */
const stubborn = `trap '' HUP INT TERM; echo "ready $$"; while :; do sleep 0.05; done`;

/** Commands that start it, the argument, elsewhere than in the process group of the command. */
const kinds: Readonly<Record<string, (stubborn: string) => readonly string[]>> = {
  'set -m': (file) => ['bash', '-c', `set -m; sh ${file} & wait`],
  'set -m, and the shell ends': (file) => ['bash', '-c', `set -m; sh ${file} &`],
  'bash -i': (file) => ['bash', '--norc', '-i', '-c', `sh ${file} & wait`],
  'script, with bash -i and a job on its pty': (file) => [
    'script',
    '-qec',
    `exec bash --norc -i -c 'set -m; sh ${file} & wait'`,
    '/dev/null',
  ],
  nohup: (file) => ['sh', '-c', `nohup sh ${file} &`],
  'a double fork': (file) => ['sh', '-c', `( ( sh ${file} & ) & ); sleep 1000`],
  'setsid by a child': (file) => ['sh', '-c', `setsid sh ${file} & wait`],
};

/** Only a control group ends it. */
const daemon = (file: string): readonly string[] => ['sh', '-c', `setsid -f sh ${file}; sleep 1000`];

const faults: Readonly<Record<string, (runs: readonly Run[], silence: () => void) => Promise<void> | void>> = {
  'the server falls silent': (_runs, silence) => silence(),
  'zklock is killed': (runs) => runs.forEach(({ zklock }) => zklock.signal('SIGKILL')),
  'zklock is stopped': (runs) => runs.forEach(({ zklock }) => zklock.signal('SIGSTOP')),
  'the watchdog is stopped, and zklock is killed': async (runs) => {
    if (!hasParentDeathSignal) return; // the page says so
    for (const { zklock } of runs) {
      const watchdog = await watchdogOf(zklock.pid);
      process.kill(watchdog, 'SIGSTOP');
      await until('the watchdog is stopped', () => processOf(watchdog)?.state === 'T');
      zklock.signal('SIGKILL');
    }
  },
};

/** `ZKLOCK_LOSSES=100 npm run suite -- cli test/cli/sessions.test.ts`: at least so many losses of each kind of command. */
const losses = Number(process.env['ZKLOCK_LOSSES'] ?? Object.keys(faults).length);
const rounds = Math.ceil(losses / Object.keys(faults).length);

interface Run {
  readonly kind: string;
  readonly zklock: Zklock;
  readonly granted: Promise<unknown>;
  readonly command: { readonly isAlive: boolean };
}

describe('the session of a command', function () {
  this.timeout(90_000);
  const lab = labOfEachTest('zklock-sessions', { server: { tickTimeMs: 500 }, proxy: true });
  let folder = '';
  let file = '';
  before(function () {
    if (process.platform !== 'linux') this.skip();
    folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    file = join(folder, 'stubborn.sh');
    writeFileSync(file, stubborn);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  async function started(
    kind: string,
    words: readonly string[],
    waiter: InterProcessMutex,
    ...options: string[]
  ): Promise<Run> {
    const servers = ['--servers', lab.proxy.connectString, '--session-timeout', '6', '--grace', '0.5'];
    const zklock = new Zklock(['run', '--json', ...servers, ...options, waiter.path, '--', ...words]);
    await zklock.prints('ready');
    return {
      kind,
      zklock,
      command: await commandOf(zklock),
      ...(await queueBehind(waiter)),
    };
  }

  for (let round = 1; round <= rounds; round += 1)
    for (const [fault, happens] of Object.entries(faults))
      it(`is dead before the next grant if ${fault}, with each kind of job (${round} of ${rounds})`, async () => {
        await using waiter = await lab.connect({}, lab.connectString);
        const all = Object.entries(kinds).map(([kind, wordsOf], index) =>
          started(kind, wordsOf(file), new InterProcessMutex(waiter, `${lab.path}-${index}`)),
        );
        const inner = [
          process.execPath,
          bin,
          'run',
          '--servers',
          lab.connectString,
          `${lab.path}-inner`,
          '--',
          'sh',
          file,
        ];
        all.push(started('another zklock run', inner, new InterProcessMutex(waiter, `${lab.path}-outer`)));
        if (mayHaveScopes)
          all.push(
            started('--scope, and a daemon', daemon(file), new InterProcessMutex(waiter, `${lab.path}-s`), '--scope'),
          );
        try {
          const runs = await Promise.all(all);
          await happens(runs, () => lab.proxy.silence());
          await Promise.all(runs.map(({ kind, command, granted }) => diesBeforeTheNextGrant(kind, command, granted)));
        } finally {
          for (const { zklock } of await Promise.all(all)) await zklock[Symbol.asyncDispose]();
          await until('no control group is left', () => controlGroups().length === 0);
        }
      });

  it('is waited for when the command has ended, and gets the signals', async () => {
    const obedient = `trap 'echo got; exit' USR1; echo "ready $$"; while :; do sleep 0.05; done`;
    await using zklock = new Zklock([
      ...['run', '--json', '--servers', lab.connectString, lab.path, '--'],
      ...['bash', '-c', `set -m; sh -c '${obedient.replaceAll("'", `'\\''`)}' & exit 6`],
    ]);
    await zklock.prints('ready');
    expect(await zklock.tells('command-ended')).to.include({ exitCode: 6, othersRun: true });
    expect(await lab.theirs.tryAcquire()).to.equal(undefined);
    zklock.signal('SIGUSR1');
    expect(await zklock.ends()).to.equal(6);
    expect(zklock.stdout).to.match(/got/);
  });

  it('a job that is stopped dies, too', async () => {
    const { zklock, command, granted } = await started(
      'a stopped job',
      ['bash', '-c', `set -m; sh ${file} & sleep 0.2; kill -s STOP %1; echo stopped; sleep 1000`],
      lab.theirs,
    );
    await using _ = zklock;
    await zklock.prints('stopped');
    lab.proxy.silence();
    await diesBeforeTheNextGrant('a stopped job', command, granted);
    expect(await zklock.ends()).to.equal(79);
  });

  it('a process that left it, and whose parent has ended, is named after a loss, and not after a release', async () => {
    const left = join(folder, 'left');
    const words = [
      'sh',
      '-c',
      `setsid -f sh ${file} > ${left} 2>&1; while ! grep -q ready ${left}; do sleep 0.02; done; exec sh ${file}`,
    ];
    const { zklock } = await started('left', words, lab.theirs);
    await using _ = zklock;
    await lab.observer.remove((await zklock.tells('acquired'))['node'] as string);
    expect(await zklock.ends()).to.equal(79);
    const { processes } = (await zklock.tells('left')) as unknown as { processes: number[] };
    try {
      const mine = runningWith(`ZKLOCK_NODE=${String((await zklock.tells('acquired'))['node'])}`);
      expect(processes.some((pid) => isRunning(processOf(pid)))).to.equal(true);
      expect(mine.some((pid) => processes.includes(pid))).to.equal(true);
    } finally {
      for (const pid of processes) if (isRunning(processOf(pid))) process.kill(pid, 'SIGKILL');
    }
    await using released = new Zklock([
      'run',
      '--json',
      '--servers',
      lab.connectString,
      `${lab.path}-free`,
      '--',
      'setsid',
      '-f',
      'sleep',
      '1',
    ]);
    expect(await released.ends()).to.equal(0);
    expect(released.events.map(({ event }) => event))
      .to.include('released')
      .and.not.to.include('left');
  });

  it('its watchdog does not stay stopped: each renewal of the session continues it', async () => {
    const { zklock } = await started('continued', ['sh', file], lab.theirs);
    await using _ = zklock;
    const watchdog = await watchdogOf(zklock.pid);
    process.kill(watchdog, 'SIGSTOP');
    await until('the watchdog is stopped', () => processOf(watchdog)?.state === 'T');
    await until('the watchdog runs', () => processOf(watchdog)?.state !== 'T');
  });
});

/** The processes of a command, found by its session and by its environment. */
async function commandOf(zklock: Zklock): Promise<{ readonly isAlive: boolean }> {
  const { id } = await zklock.session();
  const { node } = await zklock.tells('acquired');
  const ready = Number(/ready (\d+)/.exec(zklock.stdout)?.[1]);
  return {
    get isAlive() {
      return (
        isRunning(processOf(ready)) || // only that one while it runs: to read all takes long
        allProcesses().some((each) => each.session === id && isRunning(each)) ||
        runningWith(`ZKLOCK_NODE=${String(node)}`).length > 0
      );
    },
  };
}
