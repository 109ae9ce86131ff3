import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { serverMode } from '../../lab/servers/four-letter-word.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { testPath } from '../../lab/test-path.ts';
import { until } from '../../lab/until.ts';

describe('the ensemble of docker-compose.yml', function () {
  this.timeout(60_000);
  let members: string[];
  let clients: LockClient[];

  before(async () => {
    members = (await sharedZooKeeper()).connectString.split(',');
    clients = await Promise.all(members.map((member) => LockClient.connect(member)));
  });

  after(() => Promise.all(clients.map((client) => client.close())));

  it('is the ensemble that this run tests against: a leader and two followers', async () => {
    const modeOf = (member: string) => serverMode('127.0.0.1', Number(member.split(':').at(-1)));
    await until('one member leads and two follow', async () => {
      const modes = await Promise.all(members.map(modeOf));
      return modes.sort().join() === 'follower,follower,leader';
    });
  });

  it('hands a lock over between clients of different members, in turn, with rising tokens', async () => {
    const path = testPath('members');
    const mutexes = clients.map((client) => new InterProcessMutex(client, path));
    const granted: { member: number; token: bigint }[] = [];
    let queued = 0;
    const rounds = Array.from({ length: 10 }, () => mutexes.map((mutex, member) => ({ mutex, member }))).flat();
    const [first] = mutexes;
    const gate = await first?.acquire();
    const all: Promise<void>[] = [];
    for (const { mutex, member } of rounds) {
      all.push(
        mutex.withLock((hold) => {
          granted.push({ member, token: hold.fencingToken });
        }),
      );
      queued += 1;
      // One after another; otherwise the members would decide the order.
      await until(`${queued} wait`, async () => (await mutex.participants()).length === queued + 1);
    }
    await gate?.release();
    await Promise.all(all);
    expect(granted.map(({ member }) => member)).to.deep.equal(rounds.map(({ member }) => member));
    const tokens = granted.map(({ token }) => token);
    expect(tokens).to.deep.equal([...new Set(tokens)].sort((a, b) => (a < b ? -1 : 1)));
  });

  it('excludes clients of different members from one another, in any order', async () => {
    const path = testPath('crowd');
    let inside = 0;
    let most = 0;
    const work = clients.flatMap((client) => {
      const mutex = new InterProcessMutex(client, path);
      return Array.from({ length: 20 }, () =>
        mutex.withLock(async () => {
          most = Math.max(most, ++inside);
          await new Promise((resolve) => setImmediate(resolve));
          inside -= 1;
        }),
      );
    });
    await Promise.all(work);
    expect({ most, inside }).to.deep.equal({ most: 1, inside: 0 });
  });
});
