import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { connectObserver } from '../../lab/wire/observer.ts';
import { until } from '../../lab/until.ts';
import { testPath } from '../../lab/test-path.ts';
import { keyFolder } from '../../lab/servers/tls-keys.ts';
import { startRealServer } from '../../lab/servers/zookeeper-server.ts';
import { Example, exampleFiles } from './support/example.ts';

const bin = fileURLToPath(new URL('../../packages/zklock/bin/zklock.cjs', import.meta.url));
const script = fileURLToPath(new URL('../../examples/cron.sh', import.meta.url));

/** npm compiles this module, so it is no dependency of the project. */
const canLoadSqlite = (): boolean => {
  try {
    new (createRequire(import.meta.url)('better-sqlite3') as new (file: string) => unknown)(':memory:');
    return true;
  } catch {
    return false;
  }
};

/** Programs that need several hosts, a signal or a server with TLS. The other programs run without further help. */
const directed = ['fair-job-runner.ts', 'graceful-shutdown.ts', 'tls.ts'];

describe('the examples', function () {
  this.timeout(150_000);
  let servers: string;

  before(async () => void ({ connectString: servers } = await sharedZooKeeper()));

  const lacking = canLoadSqlite() ? [] : ['guard-transaction.ts'];
  for (const file of lacking) console.log(`${file} is left out: better-sqlite3 is not installed`);
  for (const file of exampleFiles.filter((each) => ![...directed, ...lacking].includes(each)))
    it(`${file} runs without a failed assertion, and ends by itself`, async () => {
      await using example = new Example(file, servers + testPath('examples'));
      expect(await example.ends()).to.match(/^\S.*\n$/s);
    });

  it('fair-job-runner.ts on three hosts does every job once, one at a time, and serves the hosts in the order in which they asked', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'jobs-'));
    try {
      const jobs = Array.from({ length: 12 }, (_, number) => `job-${String(number).padStart(2, '0')}`);
      for (const name of ['todo', 'done']) mkdirSync(join(folder, name));
      for (const job of jobs) writeFileSync(join(folder, 'todo', job), '');
      const chroot = servers + testPath('examples');
      await using client = await LockClient.connect(chroot);
      const queue = new InterProcessMutex(client, '/locks/jobs');
      const gate = await queue.acquire();
      await using first = new Example('fair-job-runner.ts', chroot, ['a', folder]);
      await first.says('a is queued behind 1\n');
      await using second = new Example('fair-job-runner.ts', chroot, ['b', folder]);
      await second.says('b is queued behind 2\n');
      await using third = new Example('fair-job-runner.ts', chroot, ['c', folder]);
      await third.says('c is queued behind 3\n');
      await gate.release();
      await Promise.all([first.ends(), second.ends(), third.ends()]);
      const done = readdirSync(join(folder, 'done')).map((name) => name.split(' '));
      const byToken = done.sort(([a = ''], [b = '']) => (BigInt(a) < BigInt(b) ? -1 : 1));
      expect(byToken.map(([, job]) => job)).to.deep.equal(jobs);
      expect(byToken.slice(0, 3).map(([, , host]) => host)).to.deep.equal(['a', 'b', 'c']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  for (const file of ['once-on-schedule.ts', 'once-on-schedule-nestjs.ts'])
    it(`${file} on three hosts whose clocks differ does each tick once, also the one in which a host is killed`, async () => {
      const chroot = servers + testPath('examples');
      await using observer = await connectObserver(chroot);
      const hosts = [-700, 0, 900].map((skewMs, index) => {
        const name = 'abc'[index] ?? '';
        return { name, program: new Example(file, chroot, [name, '9'], skewMs) };
      });
      try {
        await Promise.all(hosts.map(({ name, program }) => program.says(`${name} has started`)));
        const begun = (): number => hosts.flatMap(({ program }) => program.output.match(/ runs /g) ?? []).length;
        // The next tick but one is a tick of all hosts.
        const before = begun();
        let victim: (typeof hosts)[number] | undefined;
        let unfinished = '';
        await until(
          'a host is in the middle of a tick',
          async () => {
            victim = hosts.find(({ program }) => / runs \S+\n$/.test(program.output));
            if (begun() < before + 2 || victim === undefined) return false;
            [, unfinished = ''] = /runs (\S+)\n$/.exec(victim.program.output) ?? [];
            // A busy machine may show the output late: the host may have done the tick already.
            victim.program.signal('SIGSTOP');
            if (!(await observer.exists(`/schedule/report/at-${unfinished}`))) return true;
            victim.program.signal('SIGCONT');
            return false;
          },
          60_000,
        );
        victim?.program.signal('SIGKILL');
        await Promise.all(hosts.filter((host) => host !== victim).map(({ program }) => program.ends()));
        const done = (await observer.children('/schedule/report')).filter((name) => name.startsWith('at-')).sort();
        const times = done.map((name) => Date.parse(name.slice('at-'.length)));
        expect(times.length).to.be.at.least(7);
        expect(new Set(times.slice(1).map((time, index) => time - (times[index] ?? 0)))).to.deep.equal(
          new Set([2_000]),
        );
        const takenOver = await observer.read(`/schedule/report/at-${unfinished}`);
        expect(takenOver, `who has done ${unfinished}`).to.be.oneOf(['a', 'b', 'c']).and.not.equal(victim?.name);
      } finally {
        for (const { program } of hosts) await program[Symbol.asyncDispose]();
      }
    });
  it('tls.ts takes a lock over TLS, and does not believe a server of an unknown authority', async () => {
    await using server = await startRealServer({ security: { tls: 'same-port' } });
    process.env['ZOOKEEPER_TLS'] = keyFolder();
    try {
      await using example = new Example('tls.ts', server.secureConnectString);
      expect(await example.ends()).to.match(/held over TLS, token \d+n\nTLS with localhost:\d+ failed/);
    } finally {
      delete process.env['ZOOKEEPER_TLS'];
    }
  });

  it('cron.sh on five hosts makes one report, and no host fails', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'reports-'));
    try {
      const env = {
        ...process.env,
        ZOOKEEPER_CONNECT: servers + testPath('examples'),
        ZKLOCK: `${process.execPath} ${bin}`,
      };
      const host = () => promisify(execFile)('/bin/sh', [script, folder], { env });
      const outputs = await Promise.all(Array.from({ length: 5 }, host));
      const [report = '', ...others] = readdirSync(folder);
      expect(others).to.deep.equal([]);
      expect(outputs.map(({ stdout, stderr }) => stdout + stderr).join('')).to.equal(`made ${join(folder, report)}\n`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('graceful-shutdown.ts stops waiting at SIGTERM, finishes its current job, and leaves an empty queue', async () => {
    const chroot = servers + testPath('examples');
    await using client = await LockClient.connect(chroot);
    const queue = new InterProcessMutex(client, '/locks/nightly');
    const hold = await queue.acquire();
    await using waiter = new Example('graceful-shutdown.ts', chroot);
    await waiter.says('waiting behind 1\n');
    waiter.signal('SIGTERM');
    expect(await waiter.ends()).to.equal('waiting behind 1\nclosed\n');
    await hold.release();
    await using worker = new Example('graceful-shutdown.ts', chroot);
    await worker.says('working\n');
    worker.signal('SIGTERM');
    expect(await worker.ends()).to.match(/^(working\nfinished\n)+closed\n$/);
    expect(await queue.participants()).to.deep.equal([]);
  });
});
