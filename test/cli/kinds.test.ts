import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { InterProcessReadWriteLock, InterProcessSemaphore } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { remove } from '../../src/zookeeper/wire/operations.ts';
import { createParents } from '../behaviour/field/support.ts';
import { Zklock } from './support/zklock.ts';

describe('the kinds of lock of zklock run', function () {
  this.timeout(30_000);
  const lab = labOfEachTest('zklock-kinds');
  const run = (args: string[], options = {}) =>
    new Zklock(
      ['run', '--servers', lab.connectString, ...args.slice(0, -1), lab.path, '-c', args.at(-1) ?? ''],
      options,
    );
  const held = ['--json', 'echo ready; exec sleep 1000'];

  it('a znode that no process can release is named during the wait', async () => {
    const left = `${lab.path}/_c_6f1c2f7e-8a1e-4a53-9d7e-2b1f0c9d8e7a-lock-0000000000`;
    await createParents(lab.client, lab.path);
    await lab.observer.create(left);
    await using zklock = run(['--json', '--wait', '8', '--session-timeout', '4', 'true']);
    const { message } = await zklock.tells('warning');
    expect(message).to.include(left).and.include('zkCli.sh delete');
    await lab.client.session.request(remove(left));
    expect(await zklock.ends()).to.equal(0);
  });

  it('a command gets PATH, znode and fencing token by its environment, and the standard input', async () => {
    const command = 'cat; echo $ZKLOCK_PATH; echo $ZKLOCK_NODE; echo $ZKLOCK_FENCE';
    await using first = run([command], { stdin: 'one\n' });
    await first.ends();
    await using second = run([command], { stdin: 'two\n' });
    await second.ends();
    const [said, path, node, fence] = first.stdout.split('\n');
    expect([said, path]).to.deep.equal(['one', lab.path]);
    expect(node).to.match(new RegExp(`^${lab.path}/_c_[0-9a-f-]{36}-lock-0000000000$`));
    expect(Number(second.stdout.split('\n')[3])).to.be.above(Number(fence));
  });

  it('variables that a shell cannot assign reach the command, too, and the file of BASH_ENV is not run', async () => {
    await using zklock = new Zklock(['run', '--servers', lab.connectString, lab.path, '--', 'env'], {
      env: { 'spring.profile': 'a b', BASH_ENV: fileURLToPath(new URL('support/bash-env.sh', import.meta.url)) },
    });
    await zklock.ends();
    expect(zklock.stdout.split('\n')).to.include('spring.profile=a b').and.not.to.include('BASH_ENV was run');
  });

  it('every variable reaches the command as it is', async () => {
    const env = { go: '/usr/bin/go', line: 'a', REPLY: 'b' };
    await using zklock = new Zklock(['run', '--servers', lab.connectString, lab.path, '--', 'env'], { env });
    await zklock.ends();
    expect(zklock.stdout.split('\n')).to.include.members(['go=/usr/bin/go', 'line=a', 'REPLY=b']);
  });

  it('words after -- are passed on as they are', async () => {
    const words = ['-n', '--help', '', "it's", '$HOME', 'a  b', '--', '*'];
    await using zklock = new Zklock([
      'run',
      '--servers',
      lab.connectString,
      lab.path,
      '--',
      process.execPath,
      '-e',
      'console.log(JSON.stringify(process.argv.slice(1)))',
      '--',
      ...words,
    ]);
    await zklock.ends();
    expect(JSON.parse(zklock.stdout)).to.deep.equal(words);
  });

  it('the znode names host and process by default, and has the data of --data else', async () => {
    await using owner = run(held);
    await owner.prints('ready');
    expect((await lab.mutex.holder())?.owner?.pid).to.equal(owner.pid);
    owner.signal('SIGTERM');
    await owner.ends();
    await using other = run(['--data', 'build 7', ...held]);
    await other.prints('ready');
    expect((await lab.mutex.holder())?.data.toString()).to.equal('build 7');
  });

  it('--slots lets so many in, as the semaphore of the library', async () => {
    await using one = run(['--slots', '2', ...held]);
    await using other = run(['--slots', '2', ...held]);
    await Promise.all([one.prints('ready'), other.prints('ready')]);
    await using third = run(['-n', '--slots', '2', 'true']);
    expect(await third.ends()).to.equal(75);
    expect(await new InterProcessSemaphore(lab.client, lab.path, { maxLeases: 2 }).tryAcquire()).to.equal(undefined);
  });

  it('--shared and --exclusive are the two sides of a read/write lock', async () => {
    await using reader = run(['--shared', ...held]);
    await reader.prints('ready');
    await using another = run(['-n', '--shared', 'true']);
    await using writer = run(['-n', '--exclusive', 'true']);
    expect([await another.ends(), await writer.ends()]).to.deep.equal([0, 75]);
    const { readLock, writeLock } = new InterProcessReadWriteLock(lab.client, lab.path);
    expect(await readLock.isLocked()).to.equal(true);
    expect(await writeLock.tryAcquire()).to.equal(undefined);
  });

  it('--weight lets the heavier waiter go first', async () => {
    await using holder = run(['--weight', '1', ...held]);
    await holder.prints('ready');
    await using light = run(['--json', '--weight', '1', 'echo $ZKLOCK_FENCE']);
    await light.tells('waiting');
    await using heavy = run(['--json', '--weight', '9', 'echo $ZKLOCK_FENCE']);
    await heavy.tells('waiting');
    holder.signal('SIGTERM');
    expect([await light.ends(), await heavy.ends()]).to.deep.equal([0, 0]);
    expect(Number(heavy.stdout)).to.be.below(Number(light.stdout));
  });
});
