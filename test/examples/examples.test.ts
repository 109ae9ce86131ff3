import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { sharedZooKeeper } from '../../harness/hooks.ts';
import { testPath } from '../../harness/test-path.ts';
import { Example, exampleFiles } from './support/example.ts';

/** Programs that need several hosts or a signal. The other programs run without further help. */
const directed = ['fair-job-runner.ts', 'graceful-shutdown.ts'];

describe('the examples', function () {
  this.timeout(150_000);
  let servers: string;

  before(async () => void ({ connectString: servers } = await sharedZooKeeper()));

  for (const file of exampleFiles.filter((each) => !directed.includes(each))) {
    it(`${file} runs without a failed assertion, and ends by itself`, async () => {
      await using example = new Example(file, servers + testPath('examples'));
      expect(await example.ends()).to.match(/^\S.*\n$/s);
    });
  }

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
