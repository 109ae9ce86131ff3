import { once, type EventEmitter } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect } from 'chai';
import { drizzle } from 'drizzle-orm/mysql2';
import { sql } from 'drizzle-orm';
import { CompiledQuery, Kysely, MysqlDialect } from 'kysely';
import { createPool as createCallbackPool } from 'mysql2';
import mysql from 'mysql2/promise';
import { forceRelease } from '../../../src/index.ts';
import { gate } from '../../../lab/gate.ts';
import { skipWithout } from '../../../lab/skip-without.ts';
import { rejection, until } from '../../../lab/until.ts';
import { createTableSql, fenced, guard, StaleTokenError } from '../src/mysql.ts';
import { Locks } from './support/locks.ts';
import { loseAnswerTo } from './support/lossy-relay.ts';
import { mysqlDesk, mysqlPool } from './support/mysql-desk.ts';
import { postgresPool } from './support/postgres-desk.ts';
import { startMariaDb, type StoreServer } from './support/store-server.ts';
import { unaware } from './support/unaware.ts';

describe('a guard in MariaDB', function () {
  this.timeout(60_000);
  let server: StoreServer | undefined;
  let locks: Locks;
  let pool: mysql.Pool;
  const insert = 'INSERT INTO written (text) VALUES (?)';

  before(async function () {
    await skipWithout(this, async () => void (server = await startMariaDb()));
    locks = await Locks.start();
    await using _ = await mysqlDesk(portOf(server));
    pool = mysqlPool(portOf(server));
    await pool.query('CREATE TABLE stock (id varchar(40) PRIMARY KEY, number int)');
  });

  after(async () => {
    if (!server) return;
    await pool.end();
    await locks[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  beforeEach(() => pool.query('DELETE FROM written'));

  it('costs one statement more than the same transaction without a guard', async () => {
    await using hold = await locks.hold();
    const one = mysqlPool(portOf(server), { connectionLimit: 1 });
    const statements = async (): Promise<number> => {
      const [[row]] = await one.query<mysql.RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Questions'");
      return Number(row?.['Value']);
    };
    await fenced(one, hold, (tx) => tx.query(insert, ['the table exists and is checked from here on']));
    const first = await statements();
    const tx = await one.getConnection();
    await tx.beginTransaction();
    await tx.query(insert, ['a']);
    await tx.commit();
    tx.release();
    const second = await statements();
    await fenced(one, hold, (each) => each.query(insert, ['b']));
    // Each count counts the question for it.
    expect([second - first, (await statements()) - second]).to.deep.equal([4, 5]);
    await one.end();
  });

  it('refuses a pool of another library, a pool without promises and a connection, before anything is sent', async () => {
    await using hold = await locks.hold();
    const connection = await pool.getConnection();
    const others = [postgresPool(1), createCallbackPool({ port: 1 }), connection, {}, undefined];
    for (const bad of others) {
      const error = await rejection(fenced(bad as unknown as mysql.Pool, hold, () => expect.fail('the job ran')));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.match(/^Expected a pool of `mysql2\/promise`/);
    }
    connection.release();
  });

  const shapes = {
    'whose tokens are text': '(lock_path varchar(99) PRIMARY KEY, token varchar(30), grant_number varchar(30))',
    'without a primary key': '(lock_path varchar(99), token bigint, grant_number bigint)',
    'with a longer primary key':
      '(lock_path varchar(99), token bigint, grant_number bigint, PRIMARY KEY (lock_path, token))',
    'without a column': '(lock_path varchar(99) PRIMARY KEY, token bigint)',
    'without transactions': '(lock_path varchar(99) PRIMARY KEY, token bigint, grant_number bigint) ENGINE = MyISAM',
  };
  Object.entries(shapes).forEach(([what, columns], index) =>
    it(`refuses a table ${what}, and stores nothing`, async () => {
      await using hold = await locks.hold();
      await pool.query(`CREATE TABLE other_${index} ${columns}`);
      const options = { table: `other_${index}` };
      const error = await rejection(fenced(pool, hold, (tx) => tx.query(insert, ['a']), options));
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.message).to.contain(createTableSql(options.table));
      expect(await written()).to.deep.equal([]);
    }),
  );

  it('looks at the table of each database, also if another pool has a right one of that name', async () => {
    await using hold = await locks.hold();
    await fenced(pool, hold, () => undefined, { table: 'of_two' });
    await pool.query('CREATE DATABASE beside');
    const elsewhere = mysqlPool(portOf(server), { database: 'beside' });
    try {
      await elsewhere.query('CREATE TABLE of_two (lock_path varchar(99), token bigint, grant_number bigint)');
      const error = await rejection(fenced(elsewhere, hold, () => undefined, { table: 'of_two' }));
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
    } finally {
      await elsewhere.end();
    }
  });

  it('tells lock paths apart that differ in case', async () => {
    await using hold = await locks.hold();
    await fenced(pool, unaware(hold, 2n), () => undefined, { key: '/locks/A' });
    await fenced(pool, unaware(hold, 1n), () => undefined, { key: '/locks/a' });
  });

  it('repeats the transaction after a deadlock, and gives up after `retries`', async () => {
    await pool.query('CREATE TABLE account (id varchar(9) PRIMARY KEY, balance int)');
    await pool.query("INSERT INTO account VALUES ('a', 0), ('b', 0)");
    const crosswise = (retries: number): Promise<PromiseSettledResult<void>[]> => {
      let both = 0;
      const locked = [['a', 'b'] as const, ['b', 'a'] as const].map(async ([first, second]) => {
        await using hold = await locks.hold();
        await fenced(
          pool,
          hold,
          async (tx) => {
            await tx.query('UPDATE account SET balance = balance + 1 WHERE id = ?', [first]);
            both += 1;
            await until('both have one row', () => both >= 2);
            await tx.query('UPDATE account SET balance = balance + 1 WHERE id = ?', [second]);
          },
          { retries },
        );
      });
      return Promise.allSettled(locked);
    };
    expect((await crosswise(10)).map(({ status }) => status)).to.deep.equal(['fulfilled', 'fulfilled']);
    const [failed] = (await crosswise(0)).filter((result) => result.status === 'rejected');
    expect(failed?.reason).to.include({ code: 'ER_LOCK_DEADLOCK' });
  });

  it('repeats the transaction if a row has changed since its first read, where the server refuses that', async () => {
    await pool.query("INSERT INTO stock VALUES ('b', 0)");
    let runs = 0;
    await using hold = await locks.hold();
    await fenced(pool, hold, async (tx) => {
      runs += 1;
      await tx.query('SET SESSION innodb_snapshot_isolation = ON');
      await tx.query('SELECT * FROM stock');
      if (runs === 1) await pool.query("UPDATE stock SET number = 5 WHERE id = 'b'");
      await tx.query("UPDATE stock SET number = number + 1 WHERE id = 'b'");
    });
    const [[row]] = await pool.query<mysql.RowDataPacket[]>("SELECT number FROM stock WHERE id = 'b'");
    expect([runs, row?.['number']]).to.deep.equal([2, 6]);
  });

  for (const send of ['query', 'execute', 'prepared', 'beside', 'none'] as const)
    it(`stores nothing of a job that goes on after a deadlock: ${send}`, async () => {
      await using hold = await locks.hold();
      const key = `deadlock-${send}`;
      await pool.query('REPLACE INTO stock VALUES (?, 0), (?, 0)', [`${key}-1`, `${key}-2`]);
      const set = (on: mysql.PoolConnection, row: 1 | 2): Promise<unknown> =>
        on.query('UPDATE stock SET number = 1 WHERE id = ?', [`${key}-${row}`]);
      const other = await pool.getConnection();
      await other.beginTransaction();
      // The server ends the transaction that has changed fewer rows.
      for (let row = 0; row < 100; row += 1)
        await other.query('INSERT INTO stock VALUES (?, 0)', [`${key}-of-other-${row}`]);
      await set(other, 2);
      const job = async (tx: mysql.PoolConnection): Promise<void> => {
        await set(tx, 1);
        const statement = await tx.prepare(insert);
        const ending = Promise.all([set(other, 1), rejection(set(tx, 2))]);
        const lateBy = {
          query: () => tx.query(insert, ['late']),
          execute: () => tx.execute(insert, ['late']),
          prepared: () => statement.execute(['late']),
        };
        const beside = send === 'beside' ? rejection(lateBy.query()) : undefined;
        const [, failed] = await ending;
        expect(failed).to.include({ code: 'ER_LOCK_DEADLOCK' });
        if (send === 'none') return;
        const refused = send === 'beside' ? beside : rejection(lateBy[send]());
        expect(await refused).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      };
      const error = await rejection(fenced(pool, hold, job, { key }));
      await other.commit();
      other.release();
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.message).to.match(/^The server has rolled the transaction back/);
      expect(error.cause).to.include({ code: 'ER_LOCK_DEADLOCK' });
      expect(await written()).to.deep.equal([]);
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
    await forceRelease(locks.client, waiting.path, { timeoutMs: 0 });
    expect(await refused).to.include({ code: 'ERR_LOCK_LOST' });
    goOn();
    await other;
    const working = await locks.hold();
    let late: mysql.PoolConnection | undefined;
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
    expect(await written()).to.deep.equal([]);
  });

  const calls = ['release', 'end', 'commit', 'rollback', 'beginTransaction', 'changeUser', 'reset'] as const;
  for (const call of calls)
    it(`refuses a job that calls ${call} of its connection, and stores nothing`, async () => {
      await using hold = await locks.hold();
      const job = async (tx: mysql.PoolConnection): Promise<void> => {
        await tx.query(insert, ['a']);
        await tx[call]({});
      };
      const error = await rejection(fenced(pool, hold, job));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain(`\`tx.${call}()\``);
      expect(await written()).to.deep.equal([]);
    });

  for (const call of ['rollback', 'beginTransaction', 'changeUser', 'reset'] as const)
    it(`stores nothing if the job ignores that ${call} is refused`, async () => {
      await using hold = await locks.hold();
      const job = async (tx: mysql.PoolConnection): Promise<void> => {
        await tx.query(insert, ['a']);
        await rejection(tx[call]({}));
      };
      expect(await rejection(fenced(pool, hold, job))).to.be.instanceOf(TypeError);
      expect(await written()).to.deep.equal([]);
    });

  it('lets a job escape texts when its transaction has ended, but not reach the connection', async () => {
    await using hold = await locks.hold();
    const late = await fenced(pool, hold, (tx) => Promise.resolve({ tx }));
    expect(late.tx.escape("it's")).to.equal(pool.escape("it's"));
    expect(late.tx.format('SELECT ?', [1])).to.equal('SELECT 1');
    expect(() => late.tx.connection)
      .to.throw()
      .with.property('code', 'ERR_LOCK_GUARD_FAILED');
  });

  it('names the error of the statement before a call that it refuses, because a `finally` hides it', async () => {
    await using hold = await locks.hold();
    const job = async (tx: mysql.PoolConnection): Promise<void> => {
      try {
        await tx.query('no SQL');
      } finally {
        tx.release();
      }
    };
    expect((await rejection(fenced(pool, hold, job))).cause).to.include({ code: 'ER_PARSE_ERROR' });
  });

  for (const call of ['commit', 'rollback', 'beginTransaction', 'changeUser', 'reset', 'ping', 'destroy'] as const)
    it(`does not let ${call} of a job that goes on after its end reach the next transaction`, async () => {
      await using hold = await locks.hold();
      const one = mysqlPool(portOf(server), { connectionLimit: 1 });
      let late: mysql.PoolConnection | undefined;
      await fenced(one, hold, (tx) => void (late = tx));
      const write = async (tx: mysql.PoolConnection, text: string): Promise<void> => {
        await tx.query(insert, [text]);
        if (call === 'destroy') late?.destroy();
        else await rejection(Promise.resolve(late?.[call]({})));
      };
      await fenced(one, hold, (tx) => write(tx, 'kept'));
      const failure = new Error('the job failed');
      const job = async (tx: mysql.PoolConnection): Promise<never> => {
        await write(tx, 'undone');
        throw failure;
      };
      expect(await rejection(fenced(one, hold, job))).to.equal(failure);
      expect(await written()).to.deep.equal(['kept']);
      await one.end();
    });

  it('does not wait for the statements of a job that has destroyed its connection', async () => {
    await using hold = await locks.hold();
    const failure = new Error('the job failed');
    let isAnswered = false;
    const answered = (): void => void (isAnswered = true);
    const job = async (tx: mysql.PoolConnection): Promise<void> => {
      tx.query('SELECT SLEEP(1)').then(answered, answered);
      await immediate(); // the statement is sent
      tx.destroy();
    };
    const failing = async (tx: mysql.PoolConnection): Promise<never> => {
      await tx.query(insert, ['a']);
      await job(tx);
      throw failure;
    };
    expect(await rejection(fenced(pool, hold, failing))).to.equal(failure);
    expect(isAnswered).to.equal(false);
    expect(await rejection(fenced(pool, hold, job))).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
    expect(await written()).to.deep.equal([]);
  });

  for (const [how, code] of Object.entries({ lost: 'ERR_LOCK_LOST', released: 'ERR_LOCK_NOT_OWNED' }))
    it(`sends no commit if the hold is ${how} while a statement is unanswered for which the job did not wait`, async () => {
      const hold = await locks.hold();
      const sent = gate();
      let late: mysql.PoolConnection | undefined;
      const job = (tx: mysql.PoolConnection): void => {
        late = tx;
        tx.query('SELECT SLEEP(0.3)').catch(() => undefined);
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
    });

  for (const step of ['next statement', 'commit'])
    it(`rejects with the error of the connection if it is lost before the ${step} is sent`, async () => {
      await using hold = await locks.hold();
      const job = async (tx: mysql.PoolConnection): Promise<void> => {
        await tx.query(insert, ['a']);
        const lost = once(tx, 'error').catch(() => undefined);
        await pool.query('KILL ?', [tx.threadId]);
        await lost;
        if (step === 'next statement') await tx.query(insert, ['b']);
      };
      const error = await rejection(fenced(pool, hold, job));
      expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
      expect(error.cause).to.include({ code: 'PROTOCOL_CONNECTION_LOST' });
      expect(await written()).to.deep.equal([]);
    });

  it('knows that nothing was committed if the connection is lost in a statement whose error the job ignores', async () => {
    await using hold = await locks.hold();
    let lost: Error | undefined;
    const error = await rejection(
      fenced(pool, hold, async (tx) => {
        await tx.query(insert, ['a']);
        const ignored = rejection(tx.query('SELECT SLEEP(20)'));
        await pool.query('KILL ?', [tx.threadId]);
        lost = await ignored;
      }),
    );
    expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
    expect(error.cause).to.equal(lost);
    expect(await written()).to.deep.equal([]);
  });

  it('knows that nothing was committed if the pool is ended during the job', async () => {
    await using hold = await locks.hold();
    const other = mysqlPool(portOf(server));
    const error = await rejection(
      fenced(other, hold, async (tx) => {
        await tx.query(insert, ['a']);
        await other.end();
      }),
    );
    expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
    expect(await written()).to.deep.equal([]);
  });

  it('stores nothing of a job that goes on after a statement that the library gave up', async () => {
    await using hold = await locks.hold();
    const error = await rejection(
      fenced(pool, hold, async (tx) => {
        await rejection(tx.query({ sql: 'SELECT SLEEP(1)', timeout: 100 }));
        await rejection(tx.query(insert, ['late']));
      }),
    );
    expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
    expect(error.cause).to.include({ code: 'PROTOCOL_SEQUENCE_TIMEOUT' });
    expect(await written()).to.deep.equal([]);
  });

  it('leaves no listener on a connection of the pool', async () => {
    await using hold = await locks.hold();
    const one = mysqlPool(portOf(server), { connectionLimit: 1 });
    const listeners = async (): Promise<number> => {
      const connection = await one.getConnection();
      connection.release();
      return (connection.connection as unknown as EventEmitter).listenerCount('error');
    };
    const before = await listeners();
    await fenced(one, hold, () => undefined);
    expect(await listeners()).to.equal(before);
    await one.end();
  });

  it('refuses a call in its job by another object of the same pool', async () => {
    await using hold = await locks.hold();
    const callbacks = mysqlPool(portOf(server)).pool;
    const inner = (): Promise<unknown> => fenced(callbacks.promise(), hold, () => undefined);
    expect(await rejection(fenced(callbacks.promise(), hold, inner))).to.be.instanceOf(TypeError);
    await callbacks.promise().end();
  });

  for (const form of [{ rowsAsArray: true }, { nestTables: true }, { typeCast: () => 'cast' }])
    it(`reads its rows from a pool with the option ${Object.keys(form).join()}`, async () => {
      await using hold = await locks.hold();
      const other = mysqlPool(portOf(server), form);
      const key = Object.keys(form).join();
      await fenced(other, unaware(hold, 2n), () => undefined, { key });
      expect(await rejection(fenced(other, unaware(hold, 1n), () => undefined, { key }))).to.include({
        storedToken: 2n,
      });
      const tx = await other.getConnection();
      await tx.beginTransaction();
      expect(await rejection(guard(tx, unaware(hold, 1n), { key }))).to.include({ storedToken: 2n });
      tx.destroy();
      await other.end();
    });

  for (const end of ['destroy', 'resetAndDestroy'] as const)
    it(`says that the outcome is unknown if the answer to the commit is lost: ${end}`, async () => {
      await using hold = await locks.hold();
      await using relay = await loseAnswerTo('COMMIT', portOf(server), { end });
      const lossy = mysqlPool(relay.port);
      const error = await rejection(fenced(lossy, hold, (tx) => tx.query(insert, ['a'])));
      expect(error).to.include({ code: 'ERR_LOCK_OUTCOME_UNKNOWN' });
      expect(await written()).to.deep.equal(['a']);
      await lossy.end();
    });

  describe('in a transaction of your own', () => {
    it('claims the row for a connection, refuses a stale holder, and says how to create a missing table', async () => {
      await using hold = await locks.hold();
      await pool.query(createTableSql());
      const tx = await pool.getConnection();
      await tx.beginTransaction();
      await guard(tx, unaware(hold, 2n));
      await tx.commit();
      await tx.beginTransaction();
      expect(await rejection(guard(tx, unaware(hold, 1n)))).to.include({ storedToken: 2n });
      expect((await rejection(guard(tx, hold, { table: 'nowhere' }))).message).to.contain(
        'CREATE TABLE IF NOT EXISTS nowhere',
      );
      await tx.rollback();
      tx.release();
    });

    it('refuses a pool, and a connection without a transaction', async () => {
      await using hold = await locks.hold();
      await pool.query(createTableSql());
      const tx = await pool.getConnection();
      for (const bad of [pool, tx]) {
        const error = await rejection(guard(bad, hold));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.match(/^Expected the connection of a transaction that has begun/);
      }
      await rejection(guard(pool, hold, { key: 'by a pool' }));
      const [rows] = await pool.query("SELECT * FROM lock_fences WHERE lock_path = 'by a pool'");
      expect(rows).to.deep.equal([]);
      await tx.query('SET autocommit = 0');
      await guard(tx, hold); // a transaction has begun without a statement
      tx.destroy();
    });

    it('refuses a function whose result has no `insertId`', async () => {
      await using hold = await locks.hold();
      expect((await rejection(guard(() => Promise.resolve([[]]), hold))).message).to.contain('insertId');
      expect((await rejection(guard((() => undefined) as never, hold))).message).to.match(/^Expected the function/);
    });

    it('works with Kysely', async () => {
      await using hold = await locks.hold();
      const db = new Kysely<{ written: { text: string } }>({ dialect: new MysqlDialect({ pool: pool.pool }) });
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
                .split('?')
                .map((part, index) => sql`${sql.raw(part)}${index in values ? sql`${values[index]}` : sql``}`);
              return tx.execute(sql.join(parts));
            },
            unaware(hold, token),
          );
          await tx.execute(sql`INSERT INTO written (text) VALUES (${String(token)})`);
          hold.assertValid();
        });
      await write(2n);
      expect(await rejection(write(1n))).to.be.instanceOf(StaleTokenError);
      expect(await written()).to.deep.equal(['2']);
    });
  });

  async function written(): Promise<string[]> {
    const [rows] = await pool.query<mysql.RowDataPacket[]>('SELECT text FROM written');
    return rows.map((row) => String(row['text']));
  }
});

function portOf(server: StoreServer | undefined): number {
  if (!server) throw new Error('MariaDB does not run');
  return server.port;
}
