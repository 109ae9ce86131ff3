import { once } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect } from 'chai';
import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/node-postgres';
import { CompiledQuery, Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { forceRelease, InterProcessMutex } from '../../../src/index.ts';
import { gate } from '../../../lab/gate.ts';
import { skipWithout } from '../../../lab/skip-without.ts';
import { rejection, until } from '../../../lab/until.ts';
import { createTableSql, fenced, guard, StaleTokenError } from '../src/postgres.ts';
import { Locks } from './support/locks.ts';
import { loseAnswerTo } from './support/lossy-relay.ts';
import { mysqlPool } from './support/mysql-desk.ts';
import { postgresPool } from './support/postgres-desk.ts';
import { prismaClient, type Prisma } from './support/prisma.ts';
import { startPostgres, type StoreServer } from './support/store-server.ts';
import { unaware } from './support/unaware.ts';

describe('a guard in PostgreSQL', function () {
  this.timeout(60_000);
  let server: StoreServer | undefined;
  let locks: Locks;
  let pool: pg.Pool;
  const table = 'lock_fences';
  const insert = 'INSERT INTO written VALUES ($1)';

  before(async function () {
    await skipWithout(this, async () => void (server = await startPostgres()));
    locks = await Locks.start();
    pool = postgresPool(portOf(server));
    await pool.query('CREATE TABLE written (text text)');
  });

  after(async () => {
    if (!server) return;
    await pool.end();
    await locks[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  beforeEach(() => pool.query('TRUNCATE written'));
  afterEach(() => expect(pool.idleCount, 'every connection is back in the pool').to.equal(pool.totalCount));

  it('costs one round trip more than the same transaction without a guard', async () => {
    await using hold = await locks.hold();
    const one = postgresPool(portOf(server), { max: 1 });
    await fenced(one, hold, (tx) => tx.query(insert, ['the table exists from here on']));
    let roundTrips = 0;
    const tx = await one.connect();
    const { connection } = tx as unknown as { connection: NodeJS.EventEmitter };
    connection.on('readyForQuery', () => (roundTrips += 1));
    for (const statement of ['BEGIN', "INSERT INTO written VALUES ('a')", 'COMMIT']) await tx.query(statement);
    tx.release();
    expect(roundTrips).to.equal(3);
    roundTrips = 0;
    await fenced(one, hold, (each) => each.query("INSERT INTO written VALUES ('b')"));
    expect(roundTrips).to.equal(4);
    await one.end();
  });

  it('refuses a pool of another library, a client and nothing at all, before anything is sent', async () => {
    await using hold = await locks.hold();
    const other = mysqlPool(1);
    for (const bad of [other, new pg.Client(), {}, undefined]) {
      const error = await rejection(fenced(bad as unknown as pg.Pool, hold, () => expect.fail('the job ran')));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.match(/^Expected a Pool of `pg`/);
    }
    await other.end();
  });

  it('refuses a bad `idleTimeoutMs` before anything is sent, and a bad name of a table', async () => {
    await using hold = await locks.hold();
    const bad = { '-1': -1, NaN, "'5'": '5', '2147483648': 2 ** 31 };
    for (const [got, idleTimeoutMs] of Object.entries(bad)) {
      const options = { idleTimeoutMs: idleTimeoutMs as number };
      const error = await rejection(fenced(pool, hold, () => expect.fail('the job ran'), options));
      expect(error.message).to.equal(
        `Expected \`idleTimeoutMs\` to be a whole number from 0 to 2147483647, got ${got}`,
      );
    }
    expect(await fenced(pool, hold, () => 'done', { idleTimeoutMs: 2 ** 31 - 1 })).to.equal('done');
    expect(() => createTableSql('a b')).to.throw(RangeError, "got 'a b'");
  });

  const shapes = {
    'whose tokens are text': 'lock_path text PRIMARY KEY, token text, grant_number text',
    'whose tokens are inexact': 'lock_path text PRIMARY KEY, token float8, grant_number float8',
    'without a primary key': 'lock_path text, token bigint, grant_number bigint',
    'without a column': 'lock_path text PRIMARY KEY, token bigint',
  };
  Object.entries(shapes).forEach(([what, columns], index) =>
    it(`refuses a table ${what}, and stores nothing`, async () => {
      await using hold = await locks.hold();
      await pool.query(`CREATE TABLE other_${index} (${columns})`);
      const options = { table: `other_${index}` };
      const error = await rejection(fenced(pool, hold, (tx) => tx.query(insert, ['a']), options));
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.message)
        .to.contain(`The table other_${index} is missing, or`)
        .and.contain(createTableSql(options.table));
      expect(await written()).to.deep.equal([]);
    }),
  );

  it('creates the table on demand, also for many at the same time', async () => {
    await using hold = await locks.hold();
    const options = { table: 'public.made_on_demand' };
    const writers = Array.from({ length: 5 }, (_, index) =>
      fenced(pool, unaware(hold, 1n), (tx) => tx.query(insert, ['a']), { ...options, key: `key ${index}` }),
    );
    await Promise.all(writers);
    expect(await written()).to.have.lengthOf(5);
  });

  it('rejects with the error of PostgreSQL if the table is missing and may not be created', async () => {
    await using hold = await locks.hold();
    await pool.query('CREATE ROLE guest LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC');
    const guest = postgresPool(portOf(server), { user: 'guest' });
    expect(await rejection(fenced(guest, hold, () => undefined, { table: 'forbidden' }))).to.include({ code: '42501' });
    await guest.end();
  });

  it('repeats the transaction after a deadlock, and gives up after `retries`', async () => {
    await pool.query(
      "CREATE TABLE account (id text PRIMARY KEY, balance int); INSERT INTO account VALUES ('a', 0), ('b', 0)",
    );
    const crosswise = async (retries: number): Promise<PromiseSettledResult<void>[]> => {
      let both = 0;
      const locked = [['a', 'b'] as const, ['b', 'a'] as const].map(async ([first, second]) => {
        await using hold = await locks.hold();
        await fenced(
          pool,
          hold,
          async (tx) => {
            await tx.query('UPDATE account SET balance = balance + 1 WHERE id = $1', [first]);
            both += 1;
            await until('both have one row', () => both >= 2);
            await tx.query('UPDATE account SET balance = balance + 1 WHERE id = $1', [second]);
          },
          { retries },
        );
      });
      return Promise.allSettled(locked);
    };
    expect((await crosswise(10)).map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled']);
    expect((await pool.query('SELECT balance FROM account')).rows).to.deep.equal([{ balance: 2 }, { balance: 2 }]);
    const [failed] = (await crosswise(0)).filter((result) => result.status === 'rejected');
    expect(failed?.reason).to.include({ code: '40P01' });
  });

  it('repeats the transaction after a serialization failure', async () => {
    await pool.query('CREATE TABLE duty (name text)');
    const strict = postgresPool(portOf(server), { options: '-c default_transaction_isolation=serializable' });
    let both = 0;
    let runs = 0;
    const writers = ['a', 'b'].map(async (name) => {
      await using hold = await locks.hold();
      await fenced(strict, hold, async (tx) => {
        runs += 1;
        const { rows } = await tx.query<{ count: string }>('SELECT count(*) FROM duty');
        both += 1;
        await until('both have read', () => both >= 2);
        if (rows[0]?.count === '0') await tx.query('INSERT INTO duty VALUES ($1)', [name]);
      });
    });
    await Promise.all(writers);
    expect(runs).to.equal(3);
    expect((await pool.query('SELECT name FROM duty')).rows).to.have.lengthOf(1);
    await strict.end();
  });

  it('rejects if a statement failed and the job went on, because PostgreSQL rolls back without an error', async () => {
    await using hold = await locks.hold();
    const error = await rejection(
      fenced(pool, hold, async (tx) => {
        await tx.query(insert, ['a']);
        await tx.query('SELECT 1 / 0').catch(() => undefined);
      }),
    );
    expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
    expect(await written()).to.deep.equal([]);
  });

  const ends = {
    COMMIT: ['a', 'b'],
    ROLLBACK: ['b'],
    'COMMIT and a BEGIN': ['a'],
    'ROLLBACK and a BEGIN': [],
    'BEGIN and a COMMIT': ['a', 'b'],
  };
  for (const [end, left] of Object.entries(ends))
    it(`rejects if the job sends a ${end} itself, and stores nothing of the transaction that it began`, async () => {
      await using hold = await locks.hold();
      const error = await rejection(
        fenced(pool, hold, async (tx) => {
          await tx.query(insert, ['a']);
          for (const statement of end.split(' and a ')) await tx.query(statement);
          await tx.query(insert, ['b']);
        }),
      );
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.message).to.match(/^The guarded transaction had ended before its commit/);
      expect(await written()).to.deep.equal(left);
    });

  it('passes on the error of a deferred trigger', async () => {
    await using hold = await locks.hold();
    await pool.query(`CREATE FUNCTION divide() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM 1 / 0; RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER late AFTER INSERT ON written DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION divide()`);
    const error = await rejection(fenced(pool, hold, (tx) => tx.query(insert, ['a'])));
    await pool.query('DROP TRIGGER late ON written; DROP FUNCTION divide');
    expect(error).to.include({ code: '22012' });
    expect(await written()).to.deep.equal([]);
  });

  it('does not let a holder that stops in its transaction block its successor for longer than `idleTimeoutMs`', async () => {
    const early = await locks.hold();
    const key = 'idle';
    let isIdle = false;
    let goOn = (): void => undefined;
    const stopped = fenced(
      pool,
      unaware(early, 1n),
      async (tx) => {
        isIdle = true;
        await new Promise<void>((resolve) => (goOn = resolve));
        await tx.query(insert, ['early']);
      },
      { key, idleTimeoutMs: 200 },
    );
    stopped.catch(() => undefined);
    await until('the transaction is idle', () => isIdle);
    await fenced(pool, unaware(early, 2n), (tx) => tx.query(insert, ['late']), { key });
    goOn();
    expect(await rejection(stopped)).to.be.instanceOf(Error);
    expect(await written()).to.deep.equal(['late']);
    await early.release();
  });

  it('ends at once if the hold is lost while the guard waits for the row, or while the job runs', async () => {
    await using blocking = await locks.hold();
    const key = 'waiting';
    let isHeld = false;
    let goOn = (): void => undefined;
    const other = fenced(
      pool,
      unaware(blocking, 1n),
      () => new Promise<void>((resolve) => ((isHeld = true), (goOn = resolve))),
      { key },
    );
    await until('another transaction has the row', () => isHeld);
    const waiting = await locks.hold();
    const refused = rejection(fenced(pool, waiting, () => expect.fail('the job ran'), { key }));
    await until('it waits for the row', async () => {
      const { rowCount } = await pool.query('SELECT FROM pg_locks WHERE NOT granted');
      return rowCount === 1;
    });
    await forceRelease(locks.client, waiting.path, { timeoutMs: 0 });
    expect(await refused).to.include({ code: 'ERR_LOCK_LOST' });
    goOn();
    await other;
    const working = await locks.hold();
    let late: pg.PoolClient | undefined;
    const lost = rejection(
      fenced(pool, working, async (tx) => {
        late = tx;
        await tx.query(insert, ['a']);
        await forceRelease(locks.client, working.path, { timeoutMs: 0 });
        await new Promise(() => undefined);
      }),
    );
    expect(await lost).to.include({ code: 'ERR_LOCK_LOST' });
    expect(await rejection(Promise.resolve(late?.query(insert, ['late'])))).to.include({
      code: 'ERR_LOCK_GUARD_FAILED',
    });
    await until('the connections are closed', () => pool.idleCount === pool.totalCount);
    expect(await written()).to.deep.equal([]);
  });

  for (const call of ['release', 'end'] as const)
    it(`refuses a job that calls ${call} of its connection, and stores nothing`, async () => {
      await using hold = await locks.hold();
      const job = async (tx: pg.PoolClient): Promise<void> => {
        await tx.query(insert, ['a']);
        await (tx as unknown as Record<typeof call, () => unknown>)[call]();
      };
      const error = await rejection(fenced(pool, hold, job));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain(`\`tx.${call}()\``);
      expect(await written()).to.deep.equal([]);
    });

  it('names the error of the statement before a call that it refuses, because a `finally` hides it', async () => {
    await using hold = await locks.hold();
    const job = async (tx: pg.PoolClient): Promise<void> => {
      try {
        await tx.query('no SQL');
      } finally {
        await tx.query(insert, ['a']).catch(() => undefined);
        tx.release();
      }
    };
    expect((await rejection(fenced(pool, hold, job))).cause).to.include({ code: '42601' });
  });

  it('tells a job that goes on after its end without a throw, because its caller may be a timer', async () => {
    await using hold = await locks.hold();
    let late: pg.PoolClient | undefined;
    await fenced(pool, hold, (tx) => void (late = tx));
    const code = 'ERR_LOCK_GUARD_FAILED';
    const answer = late?.query(insert, ['late']);
    expect(await rejection(Promise.resolve(answer))).to.include({ code });
    expect(await new Promise((resolve) => late?.query(insert, ['late'], resolve))).to.include({ code });
    expect(() => late?.query(new pg.Query(insert, ['late'])))
      .to.throw()
      .that.includes({ code });
    expect(await written()).to.deep.equal([]);
  });

  for (const [how, code] of Object.entries({ lost: 'ERR_LOCK_LOST', released: 'ERR_LOCK_NOT_OWNED' }))
    it(`sends no commit if the hold is ${how} while a statement is unanswered for which the job did not wait`, async () => {
      const hold = await locks.hold();
      const sent = gate();
      let late: pg.PoolClient | undefined;
      const job = (tx: pg.PoolClient): void => {
        late = tx;
        tx.query('SELECT pg_sleep(0.3)').catch(() => undefined);
        sent.open();
      };
      const refused = rejection(fenced(pool, hold, job));
      await sent.opened;
      await immediate(); // `fenced` knows that the job is done
      await (how === 'lost' ? forceRelease(locks.client, hold.path, { timeoutMs: 0 }) : hold.release());
      expect(await refused).to.include({ code });
      expect(await rejection(Promise.resolve(late?.query(insert, ['late'])))).to.include({
        code: 'ERR_LOCK_GUARD_FAILED',
      });
      await until('the connections are closed', () => pool.idleCount === pool.totalCount);
    });

  const end = 'SELECT pg_terminate_backend($1)';
  const pidOf = async (tx: pg.PoolClient): Promise<number | undefined> =>
    (await tx.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')).rows[0]?.pid;

  for (const step of ['next statement', 'commit'])
    it(`rejects with the error of the server if the connection is lost before the ${step} is sent`, async () => {
      await using hold = await locks.hold();
      const job = async (tx: pg.PoolClient): Promise<void> => {
        await tx.query(insert, ['a']);
        const lost = once(tx, 'error').catch(() => undefined);
        await pool.query(end, [await pidOf(tx)]);
        await lost;
        if (step === 'next statement') await tx.query(insert, ['b']);
      };
      const error = await rejection(fenced(pool, hold, job));
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.cause).to.include({ code: '57P01' });
      expect(await written()).to.deep.equal([]);
    });

  it('knows that nothing was committed if the connection is lost in a statement whose error the job ignores', async () => {
    await using hold = await locks.hold();
    const otherPromises = postgresPool(portOf(server), { Promise: OwnPromise as unknown as PromiseConstructor });
    for (const [from, goesOn] of [pool, otherPromises].flatMap((each) => [
      [each, false] as const,
      [each, true] as const,
    ])) {
      const error = await rejection(
        fenced(from, hold, async (tx) => {
          const pid = await pidOf(tx);
          const ignored = rejection(Promise.resolve(tx.query('SELECT pg_sleep(20)')));
          await pool.query(end, [pid]);
          await ignored;
          if (goesOn) await tx.query(insert, ['a']);
        }),
      );
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.cause).to.include({ code: '57P01' });
    }
    await otherPromises.end();
  });

  it('lets a query of its own class learn of the lost connection by its own way', async () => {
    await using hold = await locks.hold();
    const error = await rejection(
      fenced(pool, hold, async (tx) => {
        const lost = once(tx, 'error').catch(() => undefined);
        await pool.query(end, [await pidOf(tx)]);
        await lost;
        const query = new pg.Query('SELECT 1');
        const told = once(query, 'error');
        expect(() => tx.query(query)).not.to.throw();
        await told;
      }),
    );
    expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
  });

  it('waits no longer than the hold for the table that another transaction is creating', async () => {
    const hold = await locks.hold();
    const other = await pool.connect();
    await other.query('BEGIN');
    await other.query(createTableSql('of_another'));
    const waiting = rejection(fenced(pool, hold, () => expect.fail('the job ran'), { table: 'of_another' }));
    await until('the creation waits', async () => {
      const { rows } = await pool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
      return rows.length > 0;
    });
    await forceRelease(locks.client, hold.path, { timeoutMs: 0 });
    expect(await waiting).to.include({ code: 'ERR_LOCK_LOST' });
    await other.query('ROLLBACK');
    other.release();
    await until('the creation has ended', () => pool.idleCount === pool.totalCount);
  });

  it('does not let the pool emit the error of a connection that it has closed, which would end the process', async () => {
    const hold = await locks.hold();
    const other = postgresPool(portOf(server));
    const emitted: Error[] = [];
    other.on('error', (error) => emitted.push(error));
    let goOn: () => Promise<void> = () => Promise.reject(new Error('the job has not run'));
    const job = async (tx: pg.PoolClient): Promise<void> => {
      const pid = await pidOf(tx);
      const { stream } = (tx as unknown as { connection: { stream: Socket } }).connection;
      stream.pause(); // as if the process were stopped
      goOn = () => new Promise((resolve) => (tx.once('end', resolve), stream.resume()));
      await pool.query(end, [pid]);
      await forceRelease(locks.client, hold.path, { timeoutMs: 0 });
      await new Promise(() => undefined);
    };
    expect(await rejection(fenced(other, hold, job))).to.include({ code: 'ERR_LOCK_LOST' });
    await goOn();
    expect(emitted).to.deep.equal([]);
    await other.end();
  });

  it('lets a job that has lost its hold begin again with the next hold', async () => {
    const hold = await locks.hold();
    const settled = gate();
    let again: Promise<unknown> | undefined;
    const job = async (): Promise<void> => {
      again = settled.opened.then(async () => {
        await using next = await new InterProcessMutex(
          locks.client,
          hold.path.slice(0, hold.path.lastIndexOf('/')),
        ).acquire();
        return await fenced(pool, next, (tx) => tx.query(insert, ['again']));
      });
      await forceRelease(locks.client, hold.path, { timeoutMs: 0 });
      await again;
    };
    expect(await rejection(fenced(pool, hold, job))).to.include({ code: 'ERR_LOCK_LOST' });
    settled.open();
    await again;
    expect(await written()).to.deep.equal(['again']);
  });

  it('lets a job of one pool call with another pool, which may lead to another store', async () => {
    await using hold = await locks.hold();
    await pool.query('CREATE DATABASE beside');
    const elsewhere = postgresPool(portOf(server), { database: 'beside' });
    expect(await fenced(pool, hold, () => fenced(elsewhere, hold, () => 'done'))).to.equal('done');
    const another = { key: 'another' };
    expect(await fenced(pool, hold, () => fenced(pool, hold, () => 'done', another))).to.equal('done');
    expect(await fenced(pool, hold, () => fenced(pool, hold, () => 'done', { table: 'another' }))).to.equal('done');
    const third = (): Promise<unknown> => fenced(pool, hold, () => fenced(pool, hold, () => undefined), another);
    expect(await rejection(fenced(pool, hold, third))).to.be.instanceOf(TypeError);
    await elsewhere.end();
  });

  it('says that the outcome is unknown if the hold is lost during the commit', async () => {
    const hold = await locks.hold();
    await pool.query(`
      CREATE TABLE slow (text text);
      CREATE FUNCTION sleeps() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN NULL; END';
      CREATE CONSTRAINT TRIGGER sleeps AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION sleeps()`);
    await fenced(pool, hold, () => undefined); // creates the table
    const committing = rejection(fenced(pool, hold, (tx) => tx.query("INSERT INTO slow VALUES ('a')")));
    await until('the commit runs', async () => {
      const { rows } = await pool.query("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
      return rows.length > 0;
    });
    await forceRelease(locks.client, hold.path, { timeoutMs: 0 });
    expect(await committing).to.include({ code: 'ERR_LOCK_OUTCOME_UNKNOWN' });
    await until('the commit is done', async () => (await pool.query('SELECT 1 FROM slow')).rows.length === 1);
  });

  it('commits after a job has undone a statement that could not reach another server', async () => {
    await using hold = await locks.hold();
    await fenced(pool, hold, async (tx) => {
      await tx.query('SAVEPOINT here');
      await rejection(tx.query("DO $$ BEGIN RAISE EXCEPTION 'no server' USING ERRCODE = '08001'; END $$"));
      await tx.query('ROLLBACK TO here');
      await tx.query(insert, ['a']);
    });
    expect(await written()).to.deep.equal(['a']);
  });

  it('creates its table once for many calls at the same time', async () => {
    await using hold = await locks.hold();
    for (const table of ['first', 'second', 'third', 'fourth', 'fifth'].map((name) => `at_once_${name}`))
      await Promise.all(
        Array.from({ length: 12 }, (_, index) => fenced(pool, hold, () => undefined, { table, key: `${index}` })),
      );
  });

  for (const code of ['23505', '42P07', '42710'])
    it(`goes on if another process creates its table first, which PostgreSQL tells by ${code}`, async () => {
      await using hold = await locks.hold();
      const table = `created_first_${code.toLowerCase()}`;
      const late = Object.create(pool, {
        query: {
          value: async (text: string) => {
            await pool.query(text);
            throw Object.assign(new Error('It exists'), { code });
          },
        },
      }) as pg.Pool;
      expect(await fenced(late, hold, () => 'done', { table })).to.equal('done');
    });

  it('says that the outcome is unknown if the answer to the commit is lost', async () => {
    await using hold = await locks.hold();
    await using relay = await loseAnswerTo('COMMIT', portOf(server));
    const lossy = postgresPool(relay.port);
    const error = await rejection(fenced(lossy, hold, (tx) => tx.query(insert, ['a'])));
    expect(error).to.include({ code: 'ERR_LOCK_OUTCOME_UNKNOWN' });
    await lossy.end();
  });

  describe('in a transaction of your own', () => {
    before(() => pool.query(createTableSql(table)));

    it('claims the row for a client, and refuses a stale holder', async () => {
      await using hold = await locks.hold();
      const tx = await pool.connect();
      await tx.query('BEGIN');
      await guard(tx, unaware(hold, 2n));
      await tx.query('COMMIT');
      await tx.query('BEGIN');
      const before = await tx.query('SHOW idle_in_transaction_session_timeout');
      expect(await rejection(guard(tx, unaware(hold, 1n)))).to.include({ storedToken: 2n });
      expect((await tx.query('SHOW idle_in_transaction_session_timeout')).rows).to.deep.equal(before.rows);
      await tx.query('ROLLBACK');
      tx.release();
    });

    it('refuses a pool, a client without a transaction, and a function without a result', async () => {
      await using hold = await locks.hold();
      const tx = await pool.connect();
      for (const bad of [pool, tx]) {
        const error = await rejection(guard(bad, hold));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.match(/^Expected the connection of a transaction that has begun/);
      }
      tx.release();
      expect((await rejection(guard((() => undefined) as never, hold))).message).to.match(/^Expected the function/);
    });

    it('says how to create a missing table, and refuses a value that cannot send', async () => {
      await using hold = await locks.hold();
      const tx = await pool.connect();
      await tx.query('BEGIN');
      const error = await rejection(guard(tx, hold, { table: 'nowhere' }));
      expect(error.message).to.contain('CREATE TABLE IF NOT EXISTS nowhere');
      await tx.query('ROLLBACK');
      tx.release();
      expect((await rejection(guard({} as never, hold))).message).to.match(/^Expected `tx` to be a connection/);
    });

    it('works with Kysely', async () => {
      await using hold = await locks.hold();
      const db = new Kysely<{ written: { text: string } }>({ dialect: new PostgresDialect({ pool }) });
      const write = (token: bigint): Promise<unknown> =>
        db.transaction().execute(async (tx) => {
          await guard((text, values) => tx.executeQuery(CompiledQuery.raw(text, [...values])), unaware(hold, token));
          await tx
            .insertInto('written')
            .values({ text: String(token) })
            .execute();
          hold.assertValid();
        });
      await write(2n);
      expect(await rejection(write(1n))).to.be.instanceOf(StaleTokenError);
      expect(await written()).to.deep.equal(['2']);
    });

    it('works with Drizzle', async () => {
      await using hold = await locks.hold();
      const db = drizzle(pool);
      const write = (token: bigint): Promise<unknown> =>
        db.transaction(async (tx) => {
          await guard(
            (text, values) => {
              const parts = text
                .split(/\$\d/)
                .map((part, index) => sql`${sql.raw(part)}${index in values ? sql`${values[index]}` : sql``}`);
              return tx.execute(sql.join(parts));
            },
            unaware(hold, token),
          );
          await tx.execute(sql`INSERT INTO written VALUES (${String(token)})`);
          hold.assertValid();
        });
      await write(2n);
      expect(await rejection(write(1n))).to.be.instanceOf(StaleTokenError);
      expect(await written()).to.deep.equal(['2']);
    });

    it('works with Prisma', async function () {
      this.timeout(330_000); // it may have to be installed
      let db: Prisma | undefined;
      await skipWithout(this, async () => {
        db = await prismaClient(`postgresql://guards@127.0.0.1:${portOf(server)}/postgres`);
      });
      await using hold = await locks.hold();
      const write = (token: bigint): Promise<unknown> | undefined =>
        db?.$transaction(async (tx) => {
          await guard((text, values) => tx.$queryRawUnsafe(text, ...values), unaware(hold, token));
          await tx.written.create({ data: { text: String(token) } });
          hold.assertValid();
        });
      await write(2n);
      expect(await rejection(Promise.resolve(write(1n)))).to.be.instanceOf(StaleTokenError);
      expect(await written()).to.deep.equal(['2']);
      await db?.$disconnect();
    });
  });

  async function written(): Promise<string[]> {
    return (await pool.query<{ text: string }>('SELECT text FROM written')).rows.map(({ text }) => text);
  }
});

function portOf(server: StoreServer | undefined): number {
  if (!server) throw new Error('PostgreSQL does not run');
  return server.port;
}

/** A `Promise` for a pool that is no native one, such as Bluebird's. */
class OwnPromise<T> {
  readonly then;
  readonly catch;

  constructor(run: ConstructorParameters<typeof Promise<T>>[0]) {
    const native = new Promise(run);
    this.then = native.then.bind(native);
    this.catch = native.catch.bind(native);
  }
}
