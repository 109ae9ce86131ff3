import { expect } from 'chai';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { skipWithout } from '../../../lab/skip-without.ts';
import { rejection } from '../../../lab/until.ts';
import { fenced, type RedisClient } from '../src/redis.ts';
import { Locks } from './support/locks.ts';
import { loseAnswerTo } from './support/lossy-relay.ts';
import { postgresPool } from './support/postgres-desk.ts';
import { redisClient } from './support/redis-desk.ts';
import { startRedisServer, type StoreServer } from './support/store-server.ts';
import { unaware } from './support/unaware.ts';

for (const library of ['ioredis', 'redis'] as const) {
  describe(`a guard in Redis with ${library}`, () => {
    let server: StoreServer | undefined;
    let locks: Locks;
    let at: Awaited<ReturnType<typeof redisClient>>;

    before(async function () {
      await skipWithout(this, async () => void (server = await startRedisServer()));
      locks = await Locks.start();
      at = await redisClient(library, server?.port ?? 0);
    });

    after(async () => {
      if (!server) return;
      at.end();
      await locks[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
    });

    beforeEach(() => at.send('FLUSHALL'));

    it('runs all commands with their words as they are, and gives their replies', async () => {
      await using hold = await locks.hold();
      const bytes = Buffer.from([0, 255, 10]);
      const { replies } = await fenced(at.client, hold, (tx) =>
        tx
          .command('SET', 'bytes', bytes)
          .command('STRLEN', 'bytes')
          .command('GET', 'missing')
          .command('INCRBY', 'count', 2n ** 60n)
          .command('HSET', 'hash', 'half', 0.5)
          .command('HGETALL', 'hash'),
      );
      expect(replies.slice(1, 3)).to.deep.equal([3, null]);
      expect(replies.slice(4)).to.deep.equal([1, ['half', '0.5']]);
      expect(await at.send('GET', 'count')).to.equal(String(2n ** 60n));
    });

    it('costs one round trip more than one step without a guard', async () => {
      await using hold = await locks.hold();
      await at.send('CONFIG', 'RESETSTAT');
      await fenced(at.client, hold, (tx) => tx.command('SET', 'a', 1).command('SET', 'b', 2));
      const statistics = String(await at.send('INFO', 'commandstats'));
      // One script claims, and one compares and writes.
      expect(/cmdstat_eval:calls=(\d+)/.exec(statistics)?.[1]).to.equal('2');
      expect(statistics).not.to.match(/cmdstat_(multi|watch|exec|ping)/);
    });

    it('refuses a client of another library, and a client with a prefix, before anything is sent', async () => {
      await using hold = await locks.hold();
      for (const bad of [postgresPool(1), {}, undefined])
        expect((await rejection(fenced(bad as unknown as RedisClient, hold, () => undefined))).message).to.match(
          /^Expected a client of/,
        );
      const prefixed = new Redis({ keyPrefix: 'app:', lazyConnect: true });
      expect((await rejection(fenced(prefixed, hold, () => undefined))).message).to.contain('keyPrefix');
    });

    it('refuses words that are neither text nor numbers nor bytes, and too many of them, and writes nothing', async () => {
      await using hold = await locks.hold();
      for (const word of [undefined, null, {}, new Date()])
        expect(
          await rejection(fenced(at.client, hold, (tx) => void tx.command('SET', 'a', word as never))),
        ).to.be.instanceOf(TypeError);
      expect(
        await rejection(fenced(at.client, hold, (tx) => void tx.command('SET', 'a', Number('x')))),
      ).to.be.instanceOf(RangeError);
      const many = Array.from({ length: 7_000 }, () => 'a');
      expect(await rejection(fenced(at.client, hold, (tx) => void tx.command('SADD', 'a', ...many)))).to.be.instanceOf(
        RangeError,
      );
      await fenced(at.client, hold, (tx) => void tx.command('SADD', 'a', ...many.slice(2)));
      expect(await at.send('SCARD', 'a')).to.equal(1);
    });

    it('refuses a later claim that came during the job, and writes nothing', async () => {
      await using hold = await locks.hold();
      const key = 'k';
      const error = await rejection(
        fenced(
          at.client,
          unaware(hold, 1n),
          async (tx) => {
            tx.command('SET', 'a', 'early');
            await fenced(at.client, unaware(hold, 2n), (late) => late.command('SET', 'a', 'late'), { key });
          },
          { key },
        ),
      );
      expect(error).to.include({ code: 'ERR_LOCK_STALE_TOKEN', storedToken: 2n });
      expect(await at.send('GET', 'a')).to.equal('late');
    });

    it('refuses a key of another kind, and a key that is gone at the commit', async () => {
      await using hold = await locks.hold();
      const options = { key: 'k' };
      for (const words of [
        ['HSET', 'lock-fence:k', 'a', 'b'],
        ['SET', 'lock-fence:k', '12'],
      ]) {
        await at.send('DEL', 'lock-fence:k');
        await at.send(...words);
        const error = await rejection(fenced(at.client, hold, () => expect.fail('the job ran'), options));
        expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      }
      await at.send('DEL', 'lock-fence:k');
      const error = await rejection(
        fenced(
          at.client,
          hold,
          async (tx) => void (await at.send('DEL', 'lock-fence:k'), tx.command('SET', 'a', 1)),
          options,
        ),
      );
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(await at.send('GET', 'a')).to.equal(null);
    });

    it('leaves no trace of a job that fails', async () => {
      await using hold = await locks.hold();
      const fail = (): never => {
        throw new Error('the job');
      };
      expect((await rejection(fenced(at.client, hold, fail, { key: 'k' }))).message).to.equal('the job');
      expect(await at.send('GET', 'lock-fence:k')).to.have.length(41);
    });

    it('rejects with the error of Redis if a command fails', async () => {
      await using hold = await locks.hold();
      expect((await rejection(fenced(at.client, hold, (tx) => tx.command('NOSUCHCOMMAND')))).message).to.match(
        /Unknown Redis command/i,
      );
    });

    it('knows an error of Redis in a minified bundle, whose classes have other names', async () => {
      await using hold = await locks.hold();
      class MinifiedError extends Error {}
      const { client } = at as { client: { eval: (...args: unknown[]) => Promise<unknown> } };
      const fail = (error: Error): never => {
        throw new MinifiedError(error.message);
      };
      const minified = Object.create(client, {
        eval: { value: (...args: unknown[]) => client.eval(...args).catch(fail) },
      }) as RedisClient;
      await at.send('SET', 'text', 'a');
      const error = await rejection(fenced(minified, hold, (tx) => tx.command('LPUSH', 'text', 'b')));
      expect(error).to.be.instanceOf(MinifiedError);
      expect(error.message).to.contain('WRONGTYPE');
    });
  });
}

describe('a guard in Redis whose answer is lost', () => {
  let server: StoreServer | undefined;
  let locks: Locks;
  let direct: Redis;

  before(async function () {
    await skipWithout(this, async () => void (server = await startRedisServer()));
    locks = await Locks.start();
    direct = new Redis({ port: server?.port ?? 0 });
    direct.on('error', () => undefined); // the server ends
  });

  after(async () => {
    if (!server) return;
    direct.disconnect();
    await locks[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const done = 'Redis has done the transaction, and its replies are lost';
  const ended = 'The connection to Redis ended before the answer';
  for (const [what, options, cause] of [
    ['sends it again', {}, done],
    ['leaves it open', { autoResendUnfulfilledCommands: false }, ended],
    ['gives up', { retryStrategy: () => null, maxRetriesPerRequest: 0 }, /Connection is closed/],
  ] as const)
    it(`to a commit, with an ioredis that ${what}: it is done once, and its outcome is told as unknown`, async () => {
      await direct.flushall();
      await using hold = await locks.hold();
      await using relay = await loseAnswerTo('commit\r\n', server?.port ?? 0, { once: true });
      const client = new Redis({ port: relay.port, ...options });
      client.on('error', () => undefined);
      const error = await rejection(fenced(client, hold, (tx) => tx.command('INCR', 'count'), { key: 'k' }));
      expect(error).to.include({ code: 'ERR_LOCK_OUTCOME_UNKNOWN' });
      expect((error.cause as Error).message).to.match(new RegExp(cause));
      expect(await direct.get('count')).to.equal('1');
      client.disconnect();
    });

  it('because it is away when a job fails: the error of the job does not wait for it', async () => {
    await using hold = await locks.hold();
    const relay = await loseAnswerTo('nothing', server?.port ?? 0);
    const client = new Redis({ port: relay.port, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    const failing = fenced(client, hold, async () => {
      await relay[Symbol.asyncDispose]();
      throw new Error('the job');
    });
    const error = await rejection(Promise.race([failing, sleep(2_000)]));
    expect(error.message).to.equal('the job');
    client.disconnect();
  });

  for (const [what, options] of [
    ['sends it again', {}],
    ['leaves it open', { autoResendUnfulfilledCommands: false }],
  ] as const)
    it(`to a claim, with an ioredis that ${what}: the next transaction of the hold is done`, async () => {
      await direct.flushall();
      await using hold = await locks.hold();
      await using relay = await loseAnswerTo('claim\r\n', server?.port ?? 0, { once: true });
      const client = new Redis({ port: relay.port, ...options });
      client.on('error', () => undefined);
      const count = (): Promise<unknown> =>
        fenced(client, hold, (tx) => tx.command('INCR', 'count'), { key: 'k' }).catch(
          (error: unknown) => (error as Error).message,
        );
      const first = await count();
      if (what === 'leaves it open') expect(first).to.equal(ended);
      await Promise.all([count(), count()]);
      expect(await direct.get('count')).to.equal(what === 'leaves it open' ? '2' : '3');
      // The claim, and no transaction that has begun.
      expect(await direct.get('lock-fence:k')).to.have.length(41);
      client.disconnect();
    });
});
