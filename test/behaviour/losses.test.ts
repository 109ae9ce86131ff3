import { expect } from 'chai';
import { InterProcessMutex, LeaderElection, LockLostError, type Hold } from '../../src/index.ts';
import { labOfEachTest } from '../../lab/lab.ts';
import { takeAway } from '../../lab/queue.ts';
import { testPath } from '../../lab/test-path.ts';
import { aborted, rejection, until } from '../../lab/until.ts';

describe('a holder whose hold is lost', () => {
  const lab = labOfEachTest('losses', { server: 'own', proxy: true, client: 'none' });

  it('by the deletion of its znode is told within one event, not by the next heartbeat', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 60_000 });
    const hold = await new InterProcessMutex(client, testPath('told')).acquire();
    await lab.proxy.seen(({ from, op }) => from === 'server' && op === 'getData');
    const loss = aborted(hold.signal);
    lab.proxy.clear();
    await lab.observer.remove(hold.path);
    expect(await loss)
      .to.be.instanceOf(LockLostError)
      .and.to.have.property('reason', 'node-deleted');
    expect(lab.proxy.frames.map(({ op }) => op)).to.deep.equal(['watch']);
  });

  it('by the deletion of its znode is told by the next heartbeat if the event is missing', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 4_000 });
    const hold = await new InterProcessMutex(client, testPath('heartbeat')).acquire();
    await lab.proxy.seen(({ from, op }) => from === 'server' && op === 'getData');
    const loss = aborted(hold.signal);
    lab.proxy.on(({ op }) => (op === 'watch' ? 'drop' : undefined));
    const removedAt = lab.now();
    await lab.observer.remove(hold.path);
    expect(await loss).to.have.property('reason', 'node-deleted');
    expect(lab.now() - removedAt).to.be.closeTo(4_000 / 6, 50);
    expect(client.state).to.equal('connected');
  });

  it('by a heartbeat alone makes room for the waiter behind it in the same process', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 4_000 });
    const mutex = new InterProcessMutex(client, testPath('behind'));
    const hold = await mutex.acquire();
    await lab.proxy.seen(({ from, op }) => from === 'server' && op === 'getData');
    const waiting = mutex.acquire();
    await until('the waiter is in the queue', async () => (await mutex.participants()).length === 2);
    lab.proxy.on(({ op }) => (op === 'watch' ? 'drop' : undefined));
    await lab.observer.remove(hold.path);
    await (await waiting).release();
    expect(await hold.release()).to.equal('lost');
  });

  it('may learn it late if the server refuses to watch its znode, which is logged', async () => {
    const warnings: string[] = [];
    const client = await lab.connect({ logger: { warn: (_details, message) => void warnings.push(message) } });
    lab.proxy.on(({ from, op }) => (from === 'server' && op === 'getData' ? { replaceError: -1 } : undefined));
    const hold = await new InterProcessMutex(client, testPath('unwatched')).acquire();
    await until('the refused watch is logged', () => warnings.length > 0);
    expect(warnings).to.deep.equal([`${hold.path} cannot be watched: SYSTEM_ERROR (-1) from getData ${hold.path}`]);
    expect(await hold.release()).to.equal('released');
  });

  it('under a job that fails is logged, for one lock, for several and for a term', async () => {
    const warnings: string[] = [];
    const client = await lab.connect({ logger: { warn: (_details, message) => void warnings.push(message) } });
    const paths = ['a', 'b', 'leader'].map(testPath);
    const fail = async (hold: Hold): Promise<never> => {
      await takeAway(hold, lab.observer);
      throw new Error('the job failed');
    };
    const [a = '', b = '', leader = ''] = paths;
    const both = [a, b].sort().join(', ');
    await rejection(client.withLock(a, fail));
    await rejection(client.withLock([a, b], ({ holds: [, last] }) => fail(last as Hold)));
    await rejection(new LeaderElection(client, leader).lead(fail));
    const lost = (path: string): string => `A job under ${path} failed after its lock was lost (node-deleted)`;
    expect(warnings.map((each) => each.split(':')[0])).to.deep.equal([lost(a), lost(both), lost(leader)]);
  });

  it('by silence, and that releases in the listener, has its session closed on the server', async () => {
    const client = await lab.connect({ sessionTimeoutMs: 1_000 });
    const hold = await new InterProcessMutex(client, testPath('lets-go')).acquire();
    const grantedAt = lab.now();
    const { signal } = hold;
    signal.addEventListener('abort', () => void hold.release());
    const hear = lab.proxy.on(({ from }) => (from === 'server' ? 'drop' : undefined));
    expect(await aborted(signal)).to.have.property('reason', 'session-deadline');
    expect(lab.now() - grantedAt).to.be.within(850, 900);
    hear();
    await lab.proxy.seen(({ from, op }) => from === 'client' && op === 'closeSession');
  });

  it('while its process was frozen for longer than its session is told the deadline, and counted with the session', async () => {
    const errors: string[] = [];
    const logger = { warn: () => undefined, error: (_details: unknown, message: string) => void errors.push(message) };
    // Not through the proxy, which would be frozen, too.
    const client = await lab.connect({ sessionTimeoutMs: 1_000, logger }, lab.connectString);
    const mutex = new InterProcessMutex(client, testPath('frozen'));
    const hold = await mutex.acquire();
    const told = aborted(hold.signal);
    await until('the watch on its znode is on the way', () => client.session.watches.has(hold.path));
    await mutex.participants();
    lab.stall(3_000);
    // The event of the deleted znode is in the socket already, and is read before the session is judged.
    expect(await told).to.have.property('reason', 'session-deadline');
    expect(errors.join()).to.match(/The lock that it held is lost/);
  });
});
