import { expect } from 'chai';
import { LeaderElection, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { until } from '../../lab/until.ts';
import { zxidOf } from '../../lab/wire/zxid.ts';

describe('an election of many candidates', function () {
  this.timeout(120_000);
  const sessions = 200;
  const each = 5;
  const sessionTimeoutMs = 6_000;
  const lab = labOfEachTest('many-candidates', { server: 'own', proxy: true, client: 'none' });

  it(`of ${sessions * each} wakes a constant number at each change, and those that wait write no transaction`, async () => {
    const clients = await Promise.all(Array.from({ length: sessions }, () => lab.connect({ sessionTimeoutMs })));
    const terms: Hold[] = [];
    const waiting: Promise<unknown>[] = [];
    // In rounds, so that neighbours in the queue are of different sessions.
    for (let count = sessions; count <= sessions * each; count += sessions) {
      for (const [index, client] of clients.entries()) {
        const election = new LeaderElection(client, lab.path, { id: String(index) });
        waiting.push(election.campaign().then((term) => terms.push(term)));
      }
      await lab.queueReaches(count);
    }
    await until('there is a leader', () => terms.length === 1);
    // Each of them was active, and is quiet after one session timeout. Until then, let leaders resign.
    const changes = 10;
    lab.proxy.clear();
    for (let index = 0; index < changes; index += 1) {
      await (terms[index] as Hold).release();
      await until('the next one leads', () => terms.length === index + 2);
    }
    // The subject is what happens while nothing happens: time has to pass.
    await lab.sleep(1.5 * sessionTimeoutMs);
    // Three clients have an event: the leader that left, the next one, and the one that looks ahead.
    const woken = lab.proxy.frames.filter(({ op, path }) => op === 'watch' && path?.startsWith(lab.path));
    const left = terms.slice(0, changes).map((term) => woken.filter(({ path }) => path === term.path).length);
    expect(left, 'events of each change').to.deep.equal(Array(changes).fill(3));
    expect(woken, 'all events').to.have.length(3 * changes);
    const before = await zxidOf(lab.server);
    await lab.sleep(sessionTimeoutMs);
    const written = Number((await zxidOf(lab.server)) - before);
    // The leader and the next one prove their sessions, six times for each timeout. The next one asks once whether the
    // znode of the leader exists.
    expect(written, 'transactions in one session timeout').to.equal(2 * 6 + 1);
    for (const client of clients) void client.close({ timeoutMs: 1 });
    await Promise.all(waiting.map((one) => one.catch(() => undefined)));
  });
});
