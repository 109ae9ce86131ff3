import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setImmediate as immediate } from 'node:timers/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { skipWithout } from '../../../lab/skip-without.ts';
import { rejection } from '../../../lab/until.ts';
import { createTableSql, fenced, guard, StaleTokenError, type SqliteDatabase } from '../src/sqlite.ts';
import { Locks } from './support/locks.ts';
import { postgresPool } from './support/postgres-desk.ts';
import { lackOfSqlite, openDatabase, sqliteLibraries } from './support/sqlite-desk.ts';
import { unaware } from './support/unaware.ts';

for (const library of sqliteLibraries) {
  describe(`a guard in SQLite with ${library}`, () => {
    let locks: Locks | undefined;
    let folder: string;
    let db: Awaited<ReturnType<typeof openDatabase>>;

    before(async function () {
      this.timeout(700_000); // the library may have to be compiled
      await skipWithout(this, () => lackOfSqlite(library));
      locks = await Locks.start();
      folder = mkdtempSync(join(tmpdir(), 'guards-'));
      db = await openDatabase(library, join(folder, 'data.db'));
      db.exec('CREATE TABLE written (text text)');
    });

    after(async () => {
      if (!locks) return;
      await locks[Symbol.asyncDispose]();
      db.close();
      rmSync(folder, { recursive: true });
    });

    beforeEach(() => db.exec('DELETE FROM written'));

    const write = (text: string): unknown => db.prepare('INSERT INTO written VALUES (?)').run(text);
    const written = (): unknown[] => db.prepare('SELECT text FROM written').all();
    const held = () => locks?.hold() ?? Promise.reject(new Error('no locks'));

    it('refuses a database of another library, before anything is sent', async () => {
      await using hold = await held();
      const asynchronous = { exec: () => undefined, prepare: () => undefined, all: () => undefined };
      for (const bad of [postgresPool(1), asynchronous, {}, undefined]) {
        const error = await rejection(fenced(bad as unknown as SqliteDatabase, hold, () => expect.fail('the job ran')));
        expect(error.message).to.match(/^Expected a database of `node:sqlite`/);
      }
    });

    const ends = { COMMIT: ['a', 'b'], ROLLBACK: ['b'], 'COMMIT; BEGIN': ['a'], 'ROLLBACK; BEGIN': [] };
    for (const [end, left] of Object.entries(ends))
      it(`rejects if the job executes ${end} itself, and stores nothing of the transaction that it began`, async () => {
        await using hold = await held();
        const error = await rejection(
          fenced(db, hold, () => {
            write('a');
            db.exec(end);
            write('b');
          }),
        );
        expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
        expect(error.message).to.match(/^The guarded transaction had ended before its commit/);
        expect(written()).to.deep.equal(left.map((text) => ({ text })));
      });

    it('refuses a job that is asynchronous, and stores nothing', async () => {
      await using hold = await held();
      const later = async (): Promise<void> => {
        await Promise.resolve();
        write('a');
      };
      const jobs = [later, () => Promise.resolve(write('b'))];
      for (const job of jobs) {
        const error = await rejection(fenced(db, hold, job));
        expect(error).to.be.instanceOf(TypeError);
        expect(error.message).to.match(/^Expected the job to be synchronous/);
      }
      await new Promise(setImmediate);
      expect(written()).to.deep.equal([]);
    });

    const shapes = {
      'whose tokens are text': 'lock_path text PRIMARY KEY, token text, grant_number text',
      'without a primary key': 'lock_path text, token integer, grant_number integer',
      'with a longer primary key':
        'lock_path text, token integer, grant_number integer, PRIMARY KEY (lock_path, token)',
      'without a column': 'lock_path text PRIMARY KEY, token integer',
    };
    Object.entries(shapes).forEach(([what, columns], index) =>
      it(`refuses a table ${what}, and stores nothing`, async () => {
        await using hold = await held();
        db.exec(`CREATE TABLE other_${index} (${columns})`);
        const error = await rejection(fenced(db, hold, () => write('a'), { table: `other_${index}` }));
        expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
        expect(error.message).to.contain(createTableSql(`other_${index}`));
        expect(written()).to.deep.equal([]);
      }),
    );

    it('tries again while another connection writes, and gives up after `retries`', async () => {
      await using hold = await held();
      const other = await openDatabase(library, join(folder, 'data.db'));
      other.exec('BEGIN IMMEDIATE');
      const error = await rejection(fenced(db, hold, () => write('a'), { retries: 1 }));
      expect(error.message).to.match(/locked/);
      const patient = fenced(db, hold, () => write('b'));
      setTimeout(() => other.exec('ROLLBACK'), 30);
      await patient;
      expect(written()).to.have.lengthOf(1);
      other.close();
    });

    it('does not begin a lazy query that its job returns, which would be outside of the transaction', async () => {
      await using hold = await held();
      const lazy = { then: (resolve: (value: unknown) => void) => resolve(write('late')) };
      expect(await rejection(fenced(db, hold, () => lazy))).to.be.instanceOf(TypeError);
      await immediate();
      expect(written()).to.deep.equal([]);
    });

    it('reports no rejection of a promise that it refuses', async () => {
      await using hold = await held();
      const reported: unknown[] = [];
      const report = (error: unknown): unknown => reported.push(error);
      process.on('unhandledRejection', report);
      await rejection(fenced(db, hold, () => Promise.reject(new Error('the job failed'))));
      await immediate();
      process.off('unhandledRejection', report);
      expect(reported).to.deep.equal([]);
    });

    it('refuses an iterator as the result, and stores nothing', async () => {
      await using hold = await held();
      const job = (): unknown => {
        write('a');
        return db.prepare('SELECT text FROM written').iterate();
      };
      expect((await rejection(fenced(db, hold, job))).message).to.match(/^Expected the job to return a value/);
      expect(written()).to.deep.equal([]);
    });

    if (library === 'better-sqlite3')
      it('reports a transaction that an iterator of the job keeps open', async () => {
        await using hold = await held();
        let rows: Iterator<unknown> | undefined;
        const job = (): void => {
          write('a');
          rows = db.prepare('SELECT text FROM written').iterate();
          rows.next();
        };
        const error = await rejection(fenced(db, hold, job));
        expect(error).to.include({ code: 'ERR_LOCK_GUARD_FAILED' });
        expect(error.message).to.match(/^The transaction is still open/);
        rows?.return?.();
        db.exec('ROLLBACK');
        expect(written()).to.deep.equal([]);
      });

    it('lets what its job has started call again, because the transaction is over by then', async () => {
      await using hold = await held();
      let later: Promise<unknown> | undefined;
      await fenced(db, hold, () => {
        later = Promise.resolve().then(() => fenced(db, hold, () => write('later')));
      });
      await later;
      expect(written()).to.have.length(1);
    });

    it('refuses a database without a transaction, where nothing is guarded', async () => {
      await using hold = await held();
      expect(() => guard(db, hold)).to.throw(TypeError, 'Expected the connection of a transaction that has begun');
    });

    it('claims the row in a transaction of your own, and refuses a stale holder', async () => {
      await using hold = await held();
      const own = (token: bigint): void => {
        db.exec('BEGIN IMMEDIATE');
        try {
          guard(db, unaware(hold, token));
          write('a');
          hold.assertValid();
          db.exec('COMMIT');
        } catch (error) {
          db.exec('ROLLBACK');
          throw error;
        }
      };
      own(2n);
      expect(() => own(1n)).to.throw(StaleTokenError);
      expect(written()).to.have.lengthOf(1);
    });
  });
}
