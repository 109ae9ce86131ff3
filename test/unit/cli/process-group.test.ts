import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { expect } from 'chai';
import { ProcessGroup } from '../../../src/cli/run/process-group.ts';
import { whenProcessEnds } from '../../../lab/servers/process-end.ts';

/**
 * A group whose only process creates the next one and ends, again and again, until its standard input ends. The parent,
 * which is in another group, inherits the zombies and does not reap them.
 */
const relay = `
import ctypes, os, select, sys
PR_SET_CHILD_SUBREAPER = 36
ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
if os.fork() == 0:
    os.setsid()
    os.write(1, b'%d\\n' % os.getpid())
    while not select.select([0], [], [], 0.001)[0]:
        if os.fork() != 0:
            os._exit(0)
        os.write(1, b'next\\n')
    os.write(1, b'over\\n')
    os._exit(0)
while True:
    select.select([], [], [], 60)
`;

describe('the group of a command', function () {
  this.timeout(60_000);
  before(function () {
    if (process.platform !== 'linux') this.skip();
  });

  it('lives while its processes replace each other, and has ended when only zombies are left', async () => {
    const python = spawn('python3', ['-c', relay], { stdio: ['pipe', 'pipe', 'inherit'] });
    const forget = whenProcessEnds(() => python.kill('SIGKILL'));
    try {
      const lines = createInterface(python.stdout)[Symbol.asyncIterator]();
      const group = new ProcessGroup(Number((await lines.next()).value));
      // As many as the processes that follow. On a busy machine, all looks could come before the next one.
      for (let look = 0; look < 200; look += 1) {
        expect(group.isAlive, `at look ${look}`).to.equal(true);
        expect((await lines.next()).value).to.equal('next');
      }
      python.stdin.end();
      while ((await lines.next()).value === 'next');
      await group.ended();
    } finally {
      python.kill('SIGKILL');
      forget();
    }
  });
});
