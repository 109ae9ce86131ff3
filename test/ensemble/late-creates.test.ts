import { expect } from 'chai';
import { InterProcessMutex, type LockClient } from '../../src/index.ts';
import { connectToFirst } from '../../lab/lock-clients.ts';
import { testPath } from '../../lab/test-path.ts';
import { connectObserver } from '../../lab/wire/observer.ts';
import { dial } from '../../lab/wire/wire-client.ts';
import { useTrio } from '../../lab/servers/trio.ts';
import { until } from '../../lab/until.ts';
import { sleep } from '../../lab/world.ts';

const sessionTimeoutMs = 6_000;
/** Threads of the leader race with each other. */
const mostTries = 4;
/** With few creates, the leader has mostly refused them all before it reads that the session has moved back. */
const count = 200;

describe('creates that the leader carries out late, when a cut follower is heard again', function () {
  this.timeout(240_000);
  const used = useTrio();

  it('block no lock: their znodes are deleted', async () => {
    let late = 0;
    for (let tries = 1; late === 0 && tries <= mostTries; tries += 1) late = await createLate();
    // The simulated ensemble does the same.
    expect(late).to.be.greaterThan(0);
  });

  /** Resolves with the number of znodes that were created late, when only the holds are left. */
  async function createLate(): Promise<number> {
    const roles = await used.trio.whole();
    const [leader, follower, other] = roles;
    let late = 0;
    const warn = (...texts: unknown[]): void => {
      if (texts.some((text) => String(text).includes('was created by a request'))) late += 1;
    };
    const logger = { error: warn, warn, info: warn, debug: warn };
    await using observer = await connectObserver(leader.connectString);
    await using client = await connectToFirst([follower, other], { sessionTimeoutMs, logger });
    const paths = Array.from({ length: count }, (_, index) => `${testPath('late-creates')}-${index}`);
    const mutexes = paths.map((path) => new InterProcessMutex(client, path));
    for (const mutex of mutexes) await mutex.withLock(() => undefined);
    const ticket = ticketOf(client);
    const cut = await used.trio.cutFollowerOff(roles, follower);
    const holds = await Promise.all(mutexes.map((mutex) => mutex.acquire()));
    // As an attempt that the client made before it went to the other server.
    using _ = dial(follower.port, sessionTimeoutMs, ...ticket);
    await sleep(300); // the follower has asked the leader
    await cut.heal();
    const { epoch } = client.session;
    await until('the session was moved', () => client.session.epoch > epoch, 30_000);
    const areHoldsLeft = async (): Promise<boolean> => {
      const lists = await Promise.all(paths.map((path) => observer.children(path)));
      return lists.every(({ length }) => length === 1);
    };
    await until('only the holds are left', areHoldsLeft, 15_000);
    await Promise.all(holds.map((hold) => hold.release()));
    return late;
  }
});

function ticketOf({ session }: LockClient): [{ sessionId: bigint; password: Buffer }, number] {
  const { id, password, lastZxid } = session.connection.identity;
  return [{ sessionId: id.readBigInt64BE(), password }, Number(lastZxid)];
}
