import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { InterProcessMutex } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { Zklock } from './support/zklock.ts';

describe('the exit code of zklock', () => {
  it('is 70, with the reason, if the standard output cannot be written', function () {
    if (process.platform !== 'linux') this.skip();
    const full = openSync('/dev/full', 'w');
    const { status, stderr } = spawnSync(process.execPath, ['packages/zklock/bin/zklock.cjs', '--help'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    closeSync(full);
    expect({ status, stderr }).to.deep.equal({
      status: 70,
      stderr: 'zklock: standard output cannot be written: ENOSPC: no space left on device, write\n',
    });
  });
});

describe('the exit code of zklock watch', () => {
  const lab = labOfEachTest('zklock-watch');

  it('is 77 if its reader has left, and not all was shown', async () => {
    await (await lab.mutex.acquire()).release();
    await lab.observer.create(`${lab.path}/hidden`, [{ permissions: 30, scheme: 'world', id: 'anyone' }]);
    const words = ['packages/zklock/bin/zklock.cjs', 'watch', '--json', '--servers', lab.connectString, lab.path];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    child.stdout.destroy();
    // Each event is a line that it cannot write.
    const ended = once(child, 'exit');
    const mutex = new InterProcessMutex(lab.client, `${lab.path}/a`);
    let code: unknown;
    void ended.then(([given]: unknown[]) => (code = given));
    await until('it has ended', async () => {
      await (await mutex.acquire()).release();
      return code !== undefined;
    });
    expect(code).to.equal(77);
  });
});

describe('the exit code of zklock run', function () {
  this.timeout(30_000);
  const lab = labOfEachTest('zklock-exit');

  const outcomes: [what: string, command: string[], code: number][] = [
    ['is 0 if the command succeeds', ['--', 'true'], 0],
    ['is the command’s own', ['--', 'sh', '-c', 'exit 7'], 7],
    ['is the command’s own, if it runs by a shell', ['-c', 'exit 9'], 9],
    ['is 128 + n if signal n ended the command', ['-c', 'kill -s KILL $$'], 137],
    ['is 127 if the command is not found', ['--', '/no/such/command'], 127],
    ['is 126 if the command cannot be executed', ['--', '/etc/passwd'], 126],
  ];
  for (const [what, command, code] of outcomes)
    it(`${what}, and nothing is left in the queue`, async () => {
      await using zklock = new Zklock(['run', '--servers', lab.connectString, lab.path, ...command]);
      expect(await zklock.ends()).to.equal(code);
      expect(await lab.mutex.participants()).to.deep.equal([]);
    });

  it('is 127 beside the words of the shell alone, if the command is not found and the events are JSON', async () => {
    const words = ['run', '--json', '--servers', lab.connectString, lab.path, '--', '/no/such/command'];
    await using zklock = new Zklock(words);
    expect([await zklock.ends(), zklock.stdout]).to.deep.equal([127, '']);
    const others = zklock.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
    expect(others.join('\n')).to.match(/^\S+: .*\/no\/such\/command: .*$/);
  });

  it('is 75, or that of -E, if the lock is not free; without a word with -n, with the holder’s name after -w', async () => {
    await using _hold = await lab.mutex.acquire({ data: 'owner' });
    const run = (...options: string[]) =>
      new Zklock(['run', '--servers', lab.connectString, ...options, lab.path, '--', 'echo', 'started']);
    await using at0 = run('-n');
    await using late = run('-w', '5');
    await using named = run('-n', '-E', '3');
    expect([await at0.ends(), await late.ends(), await named.ends()]).to.deep.equal([75, 75, 3]);
    expect(at0.stderr + at0.stdout + late.stdout).to.equal('');
    expect(late.stderr)
      .to.match(/was not acquired within/)
      .and.to.include(`pid ${process.pid}`);
    expect(await lab.mutex.participants()).to.have.length(1);
  });

  it('is 69 if no server can be reached, also within --wait', async () => {
    const startedAt = performance.now();
    await using zklock = new Zklock(['run', '--servers', '127.0.0.1:1', '-w', '0.3', '/a', '--', 'echo', 'started']);
    expect(await zklock.ends()).to.equal(69);
    expect(zklock.stderr).to.match(/No ZooKeeper server of 127\.0\.0\.1:1 answered within 300 ms/);
    expect(zklock.stdout).to.equal('');
    expect(performance.now() - startedAt).to.be.below(10_000);
  });

  it('is 77 if the lock’s znode does not allow it, and 0 with the credentials of a file or the environment', async () => {
    const id = `user:${createHash('sha1').update('user:secret').digest('base64')}`;
    const path = lab.path.replaceAll('/', '-').replace('-', '/');
    await lab.observer.create(path, [{ permissions: 31, scheme: 'digest', id }]);
    const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    try {
      const file = join(folder, 'auth');
      writeFileSync(file, '# for the tests\ndigest:user:secret\n');
      const args = ['--servers', lab.connectString, path, '--', 'true'];
      await using refused = new Zklock(['run', ...args]);
      await using byFile = new Zklock(['run', '--auth-file', file, ...args]);
      await using byEnvironment = new Zklock(['run', ...args], { env: { ZKLOCK_AUTH: 'digest:user:secret' } });
      await using wrong = new Zklock(['run', ...args], { env: { ZKLOCK_AUTH: 'nonsense:user:secret' } });
      expect(await refused.ends()).to.equal(77);
      expect(refused.stderr).to.include('NO_AUTH');
      expect([await byFile.ends(), await byEnvironment.ends()], byFile.stderr + byEnvironment.stderr).to.deep.equal([
        0, 0,
      ]);
      expect(await wrong.ends()).to.equal(77);
      expect(wrong.stderr).to.include('refused the credentials').and.not.to.include('secret');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('is the last event of --json, and a failure is an event, too: no other text is on standard error', async () => {
    await using _hold = await lab.mutex.acquire();
    const run = (...args: string[]) => new Zklock(['run', '--json', ...args, '--', 'echo', 'started']);
    await using unreachable = run('--servers', '127.0.0.1:1', '-w', '0.3', '/a');
    await using refused = run('--servers', lab.connectString, '--grace', '1000', lab.path);
    await using misused = run('-n', '-w', '1', '/a');
    await using interrupted = run('--servers', lab.connectString, lab.path);
    await interrupted.tells('waiting');
    interrupted.signal('SIGTERM');
    for (const [zklock, code, event] of [
      [unreachable, 69, 'failed'],
      [refused, 64, 'failed'],
      [misused, 64, 'failed'],
      [interrupted, 143, 'interrupted'],
    ] as const) {
      expect(await zklock.ends()).to.equal(code);
      expect(zklock.events.slice(-2)).to.have.nested.property('[0].event', event);
      expect(zklock.events.at(-1)).to.include({ event: 'exit', exitCode: code });
      expect(zklock.stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'))).to.deep.equal([]);
    }
  });

  const mistakes: [args: string[], says: RegExp][] = [
    [['/a'], /The command is missing/],
    [['/a', 'true'], /Unexpected word "true": write -- before CMD ARG…/],
    [['--', 'true'], /PATH is missing/],
    [['a', '--', 'true'], /Path must start with/],
    [['-w', 'soon', '/a', '--', 'true'], /Expected --wait to be a number of seconds ≥ 0, such as 2\.5, got "soon"/],
    [['-n', '-w', '1', '/a', '--', 'true'], /--nonblock and --wait exclude each other/],
    [['--slots', '0', '/a', '--', 'true'], /Expected --slots to be a whole number ≥ 1, got "0"/],
    [['--slots', '2', '--shared', '/a', '--', 'true'], /different kinds of lock/],
    [['--lock', '/a', '--', 'true'], /Unknown option '--lock'\. The options of run are --nonblock/],
    [['/a', '--', '-x'], /"-x" is not the name of a program/],
    [['--auth-file', '/no/such/file', '/a', '--', 'true'], /The file of credentials cannot be read/],
    [['--servers', 'a b:x', '/a', '--', 'true'], /Expected --servers to be /],
  ];
  for (const [args, says] of mistakes)
    it(`is 64 for: run ${args.join(' ')}`, async () => {
      await using zklock = new Zklock(['run', ...args]);
      expect(await zklock.ends()).to.equal(64);
      expect(zklock.stderr).to.match(says);
    });

  it('is 64 if the grace does not fit in the session timeout, and the message says what fits', async () => {
    const args = [
      'run',
      '--servers',
      lab.connectString,
      '--session-timeout',
      '8',
      '--grace',
      '3',
      lab.path,
      '--',
      'echo',
    ];
    await using zklock = new Zklock(args);
    expect(await zklock.ends()).to.equal(64);
    expect(zklock.stderr).to.match(/--grace 3 does not fit in the session timeout of 8 s: at most 2 fits/);
    expect(zklock.stderr).to.include('--session-timeout 12');
    expect(zklock.stdout).to.equal('');
  });
});
