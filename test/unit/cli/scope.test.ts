import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { UsageError } from '../../../packages/zklock/src/cli/usage-error.ts';
import { groupFolder, Scope } from '../../../packages/zklock/src/cli/run/scope.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';

describe('the control group of a command', () => {
  let folder = '';
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'scope-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('is created in the group of this process, wherever that is mounted', () => {
    const version1 = '30 20 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu';
    const mount = (root: string, point: string) =>
      `${version1}\n31 20 0:27 ${root} ${point} rw,nosuid shared:4 - cgroup2 cgroup2 rw`;
    expect(groupFolder(mount('/', '/sys/fs/cgroup'), '0::/a/b\n')).to.equal('/sys/fs/cgroup/a/b');
    expect(groupFolder(mount('/', '/sys/fs/cgroup/unified'), '3:cpu:/x\n0::/\n')).to.equal('/sys/fs/cgroup/unified/');
    expect(groupFolder(mount('/a', '/my\\040groups'), '0::/a/b\n')).to.equal('/my groups/b');
    expect(groupFolder(mount('/a', '/sys/fs/cgroup'), '0::/ab\n')).to.equal(undefined);
    expect(groupFolder(version1, '0::/\n')).to.equal(undefined);
    expect(groupFolder(mount('/', '/sys/fs/cgroup'), '3:cpu:/x\n')).to.equal(undefined);
  });

  it('that the system refuses is a usage error, which names the folder and the way out', () => {
    expect(() => new Scope('a', join(folder, 'none')))
      .to.throw(UsageError, join(folder, 'none'))
      .with.property('message')
      .that.matches(/systemd-run/);
  });

  it('without cgroup.kill, before Linux 5.14: each process of it and of the groups in it gets KILL', async () => {
    const scope = new Scope('a', folder);
    mkdirSync(join(folder, 'a', 'inner'));
    const children = [spawn('sleep', ['1000']), spawn('sleep', ['1000'])];
    const forget = whenProcessEnds(() => children.forEach((child) => child.kill('SIGKILL')));
    const ends = children.map((child) => once(child, 'exit'));
    scope.add(Number(children[0]?.pid));
    writeFileSync(join(folder, 'a', 'inner', 'cgroup.procs'), `${children[1]?.pid}\n`);
    scope.kill();
    expect(await Promise.all(ends)).to.deep.equal([
      [null, 'SIGKILL'],
      [null, 'SIGKILL'],
    ]);
    forget();
  });
});
