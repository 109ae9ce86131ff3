import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import type { Operation } from '../../src/zookeeper/wire/operations.ts';
import { queueOf, queueReaches } from '../../lab/queue.ts';
import { onFreshPorts } from '../../lab/servers/free-port.ts';
import { LocalZooKeeper } from '../../lab/servers/local-zookeeper.ts';
import { ensureServerJars } from '../../lab/servers/server-jars.ts';
import { until } from '../../lab/until.ts';

interface Member {
  readonly id: number;
  readonly quorumPorts: string;
  readonly port: number;
  readonly server: LocalZooKeeper;
}

const options = {
  tickTimeMs: 500,
  javaOptions: ['-Dzookeeper.skipACL=yes'],
  config: { reconfigEnabled: 'true', standaloneEnabled: 'false', initLimit: 40, syncLimit: 20 },
};

function memberOf(
  id: number,
  [port = 0, quorum = 0, election = 0]: readonly number[],
  others: readonly Member[],
): Member {
  const quorumPorts = `127.0.0.1:${quorum}:${election}`;
  const all = [...others.map((other) => [other.id, other.quorumPorts] as const), [id, quorumPorts] as const];
  const votes = Object.fromEntries(all.map(([each, ports]) => [`server.${each}`, ports]));
  return { id, quorumPorts, port, server: new LocalZooKeeper({ main: 'quorum', port, id }, options, votes) };
}

/** Changes the members of the ensemble: ZooKeeper 3.5 and later. */
function reconfig(joining: string, leaving: string): Operation<undefined> {
  return {
    name: 'reconfig',
    opcode: 16,
    kind: 'write',
    path: '/zookeeper/config',
    write: (to) => to.bytes(Buffer.from(joining)).bytes(Buffer.from(leaving)).int(-1).long(-1n),
    read: () => undefined,
  };
}

describe('an ensemble that is replaced member by member', function () {
  this.timeout(300_000);

  it('loses no hold and no place of clients whose list of servers follows', async () => {
    await ensureServerJars();
    await onFreshPorts(18, async (ports) => {
      const portsOf = (id: number): number[] => ports.slice(3 * (id - 1), 3 * id);
      const planned = [1, 2, 3].map((id) => ({ id, quorumPorts: `127.0.0.1:${portsOf(id).slice(1).join(':')}` }));
      let members = [1, 2, 3].map((id) =>
        memberOf(id, portsOf(id), planned.filter((other) => other.id !== id) as Member[]),
      );
      const all = [...members];
      const list = (): string => members.map(({ port }) => `127.0.0.1:${port}`).join(',');
      const clients: LockClient[] = [];
      const connect = async (): Promise<LockClient> => {
        const client = await LockClient.connect(list, { sessionTimeoutMs: 30_000, connectionTimeoutMs: 60_000 });
        clients.push(client);
        return client;
      };
      try {
        await Promise.all(members.map(({ server }) => server.start()));
        const [operator, holder, waiter] = [await connect(), await connect(), await connect()];
        const change = (joining: string, leaving: string): Promise<void> =>
          until(
            `the ensemble has changed: +${joining} -${leaving}`,
            () =>
              operator.session.request(reconfig(joining, leaving)).then(
                () => true,
                () => false,
              ),
            60_000,
          );
        const mutex = new InterProcessMutex(holder, '/replaced');
        const hold = await mutex.acquire();
        const waiting = new InterProcessMutex(waiter, '/replaced').acquire();
        await queueReaches(mutex, 2);
        const sessions = clients.map((client) => client.health().sessionId);
        const queue = await queueOf(mutex);

        for (const id of [4, 5, 6]) {
          const next = memberOf(id, portsOf(id), members);
          all.push(next);
          await next.server.start().catch(() => undefined);
          await change(`server.${id}=${next.quorumPorts}:participant;127.0.0.1:${next.port}`, '');
          const [old, ...left] = members;
          members = [...left, next];
          await change('', String(old?.id));
          await old?.server.kill();
          expect([hold.isValid, hold.signal.aborted]).to.deep.equal([true, false]);
        }

        await until('all clients are connected', () => clients.every((client) => client.health().server !== undefined));
        expect(clients.map((client) => client.health().sessionId)).to.deep.equal(sessions);
        expect(members.map(({ id }) => id)).to.deep.equal([4, 5, 6]);
        expect(await queueOf(mutex)).to.deep.equal(queue);
        expect(await hold.release()).to.equal('released');
        const next = await waiting;
        expect(next.path).to.equal(queue[1]);
        await next.release();
      } finally {
        await Promise.all(clients.map((client) => client.close()));
        await Promise.all(all.map(({ server }) => server.stop()));
      }
    });
  });
});
