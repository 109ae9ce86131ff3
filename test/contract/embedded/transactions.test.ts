import { expect } from 'chai';
import { InterProcessMutex, LockClient, OutcomeUnknownError, type Hold } from '../../../src/index.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { ManualClock } from '../../../lab/manual-clock.ts';
import { reached } from '../../../lab/reached.ts';
import { rejection } from '../../../lab/until.ts';

describe('a transaction of a hold, with answers that are rare', () => {
  let zk: EmbeddedZooKeeper;
  let client: LockClient;
  let hold: Hold;

  beforeEach(async () => {
    zk = await EmbeddedZooKeeper.start();
    // Long, because a heartbeat that is under way would get the fault of the test's own request.
    client = await LockClient.connect(zk.connectString, { sessionTimeoutMs: 20_000 });
    hold = await new InterProcessMutex(client, '/lock').acquire();
    await hold.transaction().check('/lock').commit();
  });

  afterEach(async () => {
    await client.close({ timeoutMs: 500 });
    await zk.stop();
  });

  for (const refuse of ['SESSION_MOVED', 'SESSION_EXPIRED'] as const)
    it(`is of unknown outcome if a server answers ${refuse}, and its hold goes on if the session lives`, async () => {
      zk.play([{ op: 'multi', path: hold.path, fault: { refuse } }]);
      const reconnected = reached(client, 'reconnected');
      expect(await rejection(hold.transaction().create('/a').commit())).to.be.instanceOf(OutcomeUnknownError);
      await reconnected;
      expect(await hold.transaction().create('/a').commit()).to.deep.equal(['/a']);
      expect(hold.isValid).to.equal(true);
    });

  it('is of unknown outcome if the session expires before the answer, and is never done then', async () => {
    zk.play([{ op: 'multi', path: hold.path, fault: 'expire-session' }]);
    expect(await rejection(hold.transaction().create('/a').commit())).to.be.instanceOf(OutcomeUnknownError);
    await using other = await LockClient.connect(zk.connectString);
    await using next = await new InterProcessMutex(other, '/lock').acquire();
    // It would be refused if the znode existed.
    expect(await next.transaction().create('/a').commit()).to.deep.equal(['/a']);
  });

  it('is done later if the server throttles it', async () => {
    // Twice, because a heartbeat may come first.
    zk.play([{ op: 'multi', path: hold.path, times: 2, fault: { refuse: 'THROTTLED_OP' } }]);
    expect(await hold.transaction().create('/a').commit()).to.deep.equal(['/a']);
    expect(hold.isValid).to.equal(true);
  });
});

describe('a znode with a time to live that a transaction creates', () => {
  it('is deleted when nobody has written it for that long', async () => {
    const clock = new ManualClock();
    await using zk = await EmbeddedZooKeeper.start({
      extendedTypesEnabled: true,
      containerCheckIntervalMs: 1_000,
      maxSessionTimeoutMs: 60_000,
      clock,
    });
    await using client = await LockClient.connect(`${zk.connectString}/below`, { sessionTimeoutMs: 60_000 });
    await using hold = await new InterProcessMutex(client, '/lock').acquire();
    const create = { mode: 'persistent-with-ttl', ttlMs: 2_500 } as const;
    const [path] = await hold.transaction().create('/short', undefined, create).commit();
    const numbered = { mode: 'persistent-sequential-with-ttl', ttlMs: 2_500 } as const;
    const [other] = await hold.transaction().create('/', undefined, numbered).commit();
    clock.advance(2_000);
    await hold.transaction().setData(path, Buffer.from('written')).commit();
    clock.advance(2_000);
    expect((await rejection(hold.transaction().check(other).commit())).cause).to.include({ code: 'NO_NODE' });
    await hold.transaction().check(path, { version: 1 }).commit();
    clock.advance(2_000);
    expect((await rejection(hold.transaction().check(path).commit())).cause).to.include({ code: 'NO_NODE' });
  });
});
