import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { forceRelease } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { diesBeforeTheNextGrant, queueBehind } from './support/died-before.ts';
import { Zklock } from './support/zklock.ts';

/** A shell whose child goes on when the shell is killed, and both of which ignore TERM. */
const stubborn = `trap '' TERM; sh -c 'echo ready; while :; do sleep 0.05; done'; echo not reached`;
const obedient = 'echo ready; exec sleep 1000';

describe('zklock run when the lock is lost', function () {
  this.timeout(60_000);
  const lab = labOfEachTest('zklock-loss', { server: { tickTimeMs: 500 }, proxy: true });
  const run = (connectString: string, ...args: string[]) =>
    new Zklock(['run', '--json', '--servers', connectString, '--session-timeout', '4', ...args]);
  /**
   * For what has nothing to do with the end of a session: a session of 4 s ends its command if a busy machine, or the
   * disk of the server, keeps a heartbeat waiting for half a second.
   */
  const runLong = (connectString: string, ...args: string[]) => run(connectString, '--session-timeout', '20', ...args);

  for (const [what, command] of Object.entries({ 'ends at TERM': obedient, 'ignores TERM': stubborn }))
    it(`a server that falls silent ends a command that ${what} before the next grant, with exit code 79`, async () => {
      await using zklock = run(lab.proxy.connectString, '--grace', '0.8', lab.path, '-c', command);
      await zklock.prints('ready');
      const { granted } = await queueBehind(lab.theirs);
      lab.proxy.silence();
      await diesBeforeTheNextGrant(`silent server, ${what}`, await zklock.session(), granted);
      expect(await zklock.ends()).to.equal(79);
      expect(await zklock.tells('ending')).to.include({ why: 'the lock may be lost soon' });
      // 128 and the signal: TERM, or the KILL of zklock or of its watchdog, whichever comes first.
      expect(await zklock.tells('command-ended')).to.include({ exitCode: what === 'ignores TERM' ? 137 : 143 });
    });

  it('a connection that fails for a moment ends nothing', async () => {
    await using zklock = runLong(lab.proxy.connectString, lab.path, '-c', 'echo ready; sleep 3; exit 5');
    await zklock.prints('ready');
    lab.proxy.cut();
    expect(await zklock.ends()).to.equal(5);
    expect(zklock.events.map(({ event }) => event))
      .to.include('connection')
      .and.not.to.include('ending');
  });

  it('servers that move, as --servers-file says, end nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    try {
      const file = join(folder, 'servers');
      writeFileSync(file, lab.proxy.connectString);
      const options = ['--json', '--servers-file', file, '--session-timeout', '20'];
      await using zklock = new Zklock(['run', ...options, lab.path, '-c', obedient]);
      await zklock.prints('ready');
      const held = await lab.observer.ephemerals(lab.path);
      writeFileSync(file, lab.connectString);
      await lab.proxy.refuse();
      lab.proxy.cut();
      await until('it is connected', () => zklock.events.some((event) => event['state'] === 'reconnected'));
      expect(await lab.observer.ephemerals(lab.path))
        .to.deep.equal(held)
        .and.have.length(1);
      expect(zklock.events.map(({ event }) => event)).not.to.include('ending');
      zklock.signal('SIGTERM');
      expect(await zklock.ends()).to.equal(143);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  // hashicorp/consul #2022 and #873: the shell was killed, and its child ran on.
  it('a znode that somebody deletes ends the shell and its children at once, and then --on-lost runs', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    try {
      const file = join(folder, 'lost');
      const onLost = `echo "$ZKLOCK_PATH $ZKLOCK_NODE $ZKLOCK_LOST" > ${file}`;
      await using zklock = runLong(lab.connectString, '--on-lost', onLost, lab.path, '-c', stubborn);
      await zklock.prints('ready');
      const { node } = await zklock.tells('acquired');
      await lab.observer.remove(node as string);
      expect(await zklock.ends()).to.equal(79);
      expect((await zklock.session()).isAlive).to.equal(false);
      expect(readFileSync(file, 'utf8')).to.match(new RegExp(`^${lab.path} ${String(node)} .*deleted its znode`));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('a signal ends a command of --on-lost that hangs', async () => {
    const hangs = `sh -c "trap 'echo stopped; exit' TERM; echo lost; while :; do sleep 0.05; done"; echo end`;
    await using zklock = runLong(lab.connectString, '--on-lost', hangs, lab.path, '-c', obedient);
    await zklock.prints('ready');
    await lab.observer.remove((await zklock.tells('acquired'))['node'] as string);
    await zklock.prints('lost');
    zklock.signal('SIGTERM');
    expect(await zklock.ends()).to.equal(79);
    expect(zklock.stdout).to.match(/^stopped$/m);
  });

  it('a release by force kills the command before the next grant', async () => {
    await using zklock = runLong(lab.connectString, lab.path, '-c', stubborn);
    await zklock.prints('ready');
    const { node } = await zklock.tells('acquired');
    const { granted } = await queueBehind(lab.theirs);
    const forced = forceRelease(lab.client, node as string, { timeoutMs: 20_000 });
    await diesBeforeTheNextGrant('released by force', await zklock.session(), granted);
    expect(await forced).to.equal('released');
    expect(await zklock.ends()).to.equal(79);
  });

  it('zklock release takes the lock, zklock revoke sends TERM, and both print the znode', async () => {
    const operate = (verb: string) => new Zklock([verb, '--servers', lab.connectString, lab.path]);
    for (const [verb, code, done] of [
      ['revoke', 143, 'asked'],
      ['release', 79, 'released'],
    ] as const) {
      await using zklock = runLong(lab.connectString, lab.path, '-c', obedient);
      await zklock.prints('ready');
      const { node } = await zklock.tells('acquired');
      await using operator = operate(verb);
      expect([await operator.ends(), operator.stdout]).to.deep.equal([0, `${done} ${String(node)}\n`]);
      expect(await zklock.ends(), zklock.stderr).to.equal(code);
    }
    await using nobody = operate('release');
    expect([await nobody.ends(), nobody.stdout]).to.deep.equal([0, '']);
  });

  it('zklock that is killed leaves no process: its command gets TERM, then KILL, before the next grant', async () => {
    for (const command of [obedient, stubborn]) {
      await using zklock = run(lab.connectString, '--grace', '0.5', lab.path, '-c', command);
      await zklock.prints('ready');
      const session = await zklock.session();
      const { granted } = await queueBehind(lab.theirs);
      zklock.signal('SIGKILL');
      await diesBeforeTheNextGrant('zklock killed', session, granted);
      await lab.theirs.release();
    }
  });

  it('zklock that is stopped for too long: its command is killed before the next grant, and it exits with 79 later', async () => {
    await using zklock = run(lab.connectString, lab.path, '-c', stubborn);
    await zklock.prints('ready');
    const session = await zklock.session();
    const { granted } = await queueBehind(lab.theirs);
    zklock.signal('SIGSTOP');
    await diesBeforeTheNextGrant('zklock stopped', session, granted);
    zklock.signal('SIGCONT');
    expect(await zklock.ends()).to.equal(79);
  });

  it('after Ctrl-Z for too long, the command is not continued: it is killed before the next grant', async () => {
    await using zklock = run(lab.connectString, lab.path, '-c', stubborn);
    await zklock.prints('ready');
    const session = await zklock.session();
    const { granted } = await queueBehind(lab.theirs);
    zklock.signal('SIGTSTP');
    await diesBeforeTheNextGrant('Ctrl-Z', session, granted);
    zklock.signal('SIGCONT');
    expect(await zklock.ends()).to.equal(79);
  });

  it('the lock is held while a thread runs whose process shows as a zombie', async function () {
    if (process.platform !== 'linux') this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    try {
      const gate = join(folder, 'gate');
      const program = [
        'import ctypes, os, threading, time',
        'def work():',
        `    while not os.path.exists('${gate}'): time.sleep(0.02)`,
        "    os.write(1, b'late\\n')",
        '    os._exit(0)',
        'threading.Thread(target=work).start()',
        "os.write(1, b'%d\\n' % os.getpid())",
        'ctypes.CDLL(None).pthread_exit(None)',
      ];
      const file = join(folder, 'thread.py');
      writeFileSync(file, program.join('\n'));
      // The shell waits, so that its child's state is that of a zombie before the session is looked at.
      const isZombie = `while ! grep -q '^State:.Z' /proc/$!/status; do sleep 0.02; done`;
      await using zklock = runLong(lab.connectString, lab.path, '-c', `python3 ${file} & ${isZombie}; exit 6`);
      expect(await zklock.tells('command-ended')).to.include({ exitCode: 6, othersRun: true });
      expect(await lab.theirs.tryAcquire()).to.equal(undefined);
      writeFileSync(gate, '');
      expect(await zklock.ends()).to.equal(6);
      expect(zklock.stdout).to.match(/late\n$/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('--lease ends a command that takes too long', async () => {
    await using zklock = runLong(lab.connectString, '--lease', '2', '--grace', '0.5', lab.path, '-c', stubborn);
    await zklock.prints('ready');
    const { granted } = await queueBehind(lab.theirs);
    await diesBeforeTheNextGrant('lease', await zklock.session(), granted);
    expect(await zklock.ends()).to.equal(79);
    expect(await zklock.tells('ending')).to.include({ why: 'the lease of 2 s has ended' });
  });

  // The session leaves time until 2.7 s after its connection was made, and the lease until 6 s after the grant.
  it('a server that falls silent shortly before the end of --lease: the message names the lock, not the lease', async () => {
    await using zklock = run(lab.proxy.connectString, '--lease', '6', '--grace', '0.8', lab.path, '-c', obedient);
    await zklock.prints('ready');
    lab.proxy.silence();
    expect(await zklock.ends()).to.equal(79);
    expect(await zklock.tells('ending')).to.include({ why: 'the lock may be lost soon' });
  });

  it('the lock is held until the last process of the session has ended, and a process in a session of its own is not waited for', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'zklock-'));
    try {
      const gate = join(folder, 'gate');
      const background = `while [ ! -e ${gate} ]; do sleep 0.02; done`;
      await using zklock = runLong(
        lab.connectString,
        lab.path,
        '-c',
        `(${background}; echo late) & setsid sleep 2 & exit 6`,
      );
      expect(await zklock.tells('command-ended')).to.include({ exitCode: 6, othersRun: true });
      expect(await lab.theirs.tryAcquire()).to.equal(undefined);
      await new Zklock(['run', '--servers', lab.connectString, `${lab.path}-other`, '--', 'touch', gate]).ends();
      expect(await zklock.ends()).to.equal(6);
      expect(zklock.stdout).to.equal('late\n');
      expect(existsSync(gate)).to.equal(true);
      await until('the lock is free', async () => (await lab.theirs.participants()).length === 0);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
