import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { labOfEachTest } from '../../lab/lab.ts';
import { controlGroups, mayHaveScopes } from './support/control-groups.ts';
import { Zklock } from './support/zklock.ts';

const bin = fileURLToPath(new URL('../../packages/zklock/bin/zklock.cjs', import.meta.url));
const asNobody = 'process.setgroups([]); process.setgid(65534); process.setuid(65534)';

describe('zklock run --scope', function () {
  this.timeout(30_000);
  const lab = labOfEachTest('zklock-scope');
  const run = (program: readonly string[], ...command: string[]) =>
    new Zklock(['run', '--json', '--scope', '--servers', lab.connectString, lab.path, '-c', ...command], { program });

  it('waits for a daemon and passes signals on to it, or refuses where there are no control groups', async () => {
    const daemon = `trap 'echo got; exit' USR1; echo ready; while :; do sleep 0.05; done`;
    await using zklock = run([bin], `setsid -f sh -c "${daemon}"; exit 6`);
    if (!mayHaveScopes) {
      await refused(zklock);
      return;
    }
    await zklock.prints('ready');
    expect(await zklock.tells('command-ended')).to.include({ exitCode: 6, othersRun: true });
    expect(await lab.theirs.tryAcquire()).to.equal(undefined);
    zklock.signal('SIGUSR1');
    expect(await zklock.ends()).to.equal(6);
    expect(zklock.stdout).to.equal('ready\ngot\n');
    expect(controlGroups()).to.deep.equal([]);
  });

  it('refuses with 64, and before it waits for the lock, if this user may create no control group', async () => {
    const mayDrop = process.getuid?.() === 0;
    if (mayHaveScopes && !mayDrop) return;
    await using _hold = await lab.mutex.acquire();
    await using zklock = run(mayDrop ? ['--import', `data:text/javascript,${asNobody}`, bin] : [bin], 'echo started');
    await refused(zklock);
  });

  async function refused(zklock: Zklock): Promise<void> {
    expect(await zklock.ends(), zklock.stderr).to.equal(64);
    expect((await zklock.tells('failed'))['message']).to.match(
      /^--scope (cannot create a control group in \/|needs Linux)/,
    );
    expect(zklock.stdout).to.equal('');
    expect(zklock.events.map(({ event }) => event)).not.to.include('waiting');
  }
});
