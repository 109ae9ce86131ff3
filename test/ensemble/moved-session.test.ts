import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import type { Session } from '../../src/zookeeper/session/session.ts';
import { nodesOf } from '../../src/internals/znode/lock-node.ts';
import { testPath } from '../../lab/test-path.ts';
import { useTrio } from '../../lab/servers/trio.ts';
import { dial } from '../../lab/wire/wire-client.ts';
import { until } from '../../lab/until.ts';

describe('a session that another connection has moved to another server', function () {
  this.timeout(60_000);
  const used = useTrio();

  it('still claims a lock with weights: its old server ends the connection, and does not answer the transaction', async () => {
    const [leader, follower, other] = await used.trio.whole();
    // Long, because a holder gives a server up that a busy machine holds up for a quarter of it.
    const sessionTimeoutMs = 20_000;
    await using holder = await LockClient.connect(leader.connectString, { sessionTimeoutMs });
    await using waiter = await LockClient.connect(follower.connectString, { sessionTimeoutMs });
    const path = testPath('moved-session');
    const options = { weights: {} };
    const hold = await new InterProcessMutex(holder, path, options).acquire();
    const acquired = new InterProcessMutex(waiter, path, options).acquire({ timeoutMs: 2 * sessionTimeoutMs });
    // The proof of a waiter that may be next needs a new connection, which would move the session back.
    await until('the waiter is proven', () => nodesOf(waiter.session).size === 1 && !waiter.session.needsProof());
    const connections = waiter.session.epoch;
    await attachElsewhere(waiter.session, other.port, sessionTimeoutMs);
    await hold.release();
    await using next = await acquired;
    expect(next.isValid).to.equal(true);
    // The simulated ensemble does the same.
    expect(waiter.session.epoch).to.equal(connections + 1);
  });
});

/** As a ConnectRequest that was delayed in the network until its client had given that connection up. */
async function attachElsewhere(session: Session, port: number, sessionTimeoutMs: number): Promise<void> {
  const { id, password, lastZxid } = session.connection.identity;
  const ticket = { sessionId: id.readBigInt64BE(), password };
  // A server that has not caught up with what the client has seen ends the connection.
  await until('the session has moved', async () => {
    using other = await dial(port, sessionTimeoutMs, ticket, Number(lastZxid)).opened();
    return other.isOpen;
  });
}
