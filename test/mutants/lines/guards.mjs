/** A store that accepts a late writer, or a transaction whose end nobody learns of. */
export const mutants = [
  {
    name: 'a guard does not judge the hold again before the commit',
    file: 'packages/guards/src/fenced.ts',
    find: "    hold.assertValid();\n    at = 'committing';",
    replace: "    at = 'committing';",
    tests: every('pg judges the hold again'),
  },
  {
    name: 'a guard accepts the token of a reader',
    file: 'src/mutex/hold.ts',
    find: "return kind !== 'read' && kind !== 'semaphore' &&",
    replace: "return kind !== 'semaphore' &&",
    tests: every('pg refuses readers and leases'),
  },
  {
    name: 'a guard accepts the token of a lease of a semaphore',
    file: 'src/mutex/hold.ts',
    find: "return kind !== 'read' && kind !== 'semaphore' &&",
    replace: "return kind !== 'read' &&",
    tests: every('pg refuses readers and leases'),
  },
  {
    name: 'a guard in PostgreSQL accepts an older token',
    file: 'packages/guards/src/postgres-claim.ts',
    find: "'WHERE (f.token, f.grant_number) <= (EXCLUDED.token, EXCLUDED.grant_number) ' +",
    replace: '',
    tests: every('pg refuses a holder that does not know'),
  },
  {
    name: 'a guard in PostgreSQL does not compare grant numbers',
    file: 'packages/guards/src/postgres-claim.ts',
    find: '(f.token, f.grant_number) <= (EXCLUDED.token, EXCLUDED.grant_number)',
    replace: 'f.token <= EXCLUDED.token',
    tests: every('pg compares the grant numbers'),
  },
  {
    name: 'a guard in PostgreSQL accepts tokens that are text',
    file: 'packages/guards/src/postgres-claim.ts',
    find: "row?.['types'] === 'bigintbigint'",
    replace: 'row',
    tests: one('postgres', 'whose tokens are text'),
  },
  {
    name: 'a guard in PostgreSQL reports a transaction as done that was rolled back',
    file: 'packages/guards/src/postgres-transaction.ts',
    find: 'SELECT 1 / (${isSame})::int; COMMIT',
    replace: 'COMMIT',
    tests: one('postgres', 'a statement failed and the job went on'),
  },
  {
    name: 'a guard in PostgreSQL commits another transaction than its own',
    file: 'packages/guards/src/postgres-transaction.ts',
    find: '(${isSame})::int',
    replace: '(${isSame} OR true)::int',
    tests: one('postgres', 'COMMIT and a BEGIN itself'),
  },
  {
    name: 'a guard in PostgreSQL takes the error of a trigger for the end of its transaction',
    file: 'packages/guards/src/postgres-transaction.ts',
    find: 'why === undefined || isTrigger',
    replace: 'why === undefined || (isTrigger && false)',
    tests: one('postgres', 'error of a deferred trigger'),
  },
  {
    name: 'a guard in SQLite commits another transaction than its own',
    file: 'packages/guards/src/sqlite-transaction.ts',
    find: '    release(db);\n',
    replace: '',
    tests: one('sqlite', 'better-sqlite3 rejects if the job executes COMMIT; BEGIN itself'),
  },
  {
    name: 'a guard in PostgreSQL lets a stopped holder block its successor',
    file: 'packages/guards/src/postgres-claim.ts',
    find: 'coalesce($4, current_setting(${idle}))',
    replace: 'coalesce(nullif($4, $4), current_setting(${idle}))',
    tests: one('postgres', 'does not let a holder that stops'),
  },
  {
    name: 'a guard waits for the row although the hold is lost',
    file: 'packages/guards/src/fenced.ts',
    find: 'await unlessLost(hold, transaction.claim());',
    replace: 'await transaction.claim();',
    tests: one('postgres', 'ends at once if the hold is lost'),
  },
  {
    name: 'a guard reports a commit whose answer is lost as an ordinary failure',
    file: 'packages/guards/src/fenced.ts',
    find: "at === 'committing' && !(error instanceof GuardError || transaction.isAnswer(error))",
    replace: 'false',
    tests: one('postgres', 'says that the outcome is unknown'),
  },
  {
    name: 'a guard does not repeat a transaction that the store ended',
    file: 'packages/guards/src/fenced.ts',
    find: 'retry < retries',
    replace: 'retry > retries',
    tests: one('postgres', 'after a deadlock', 'after a serialization failure'),
  },
  {
    name: 'a guard in MariaDB accepts an older token',
    file: 'packages/guards/src/mysql-claim.ts',
    find: 'VALUES(grant_number)), 2, 1)) = 1',
    replace: 'VALUES(grant_number)), 1, 1)) = 1',
    tests: every('mysql2 refuses a holder that does not know', 'mysql2 compares the grant numbers'),
  },
  {
    name: 'a guard in MariaDB accepts a table without a primary key',
    file: 'packages/guards/src/mysql-claim.ts',
    find: '  if (!checkedBy.get(database)?.has(table)) await check(execute, fence, database);\n',
    replace: '',
    tests: one('mysql', 'without a primary key'),
  },
  {
    name: 'a guard in SQLite accepts an older token',
    file: 'packages/guards/src/sqlite-claim.ts',
    find: 'if (Number(changes) === 1) return;',
    replace: 'return;',
    tests: every('better-sqlite3 refuses a holder that does not know'),
  },
  {
    name: 'a guard in SQLite commits without a look at the hold',
    file: 'packages/guards/src/sqlite-transaction.ts',
    find: '    fence.hold.assertValid();\n',
    replace: '',
    tests: every('better-sqlite3 judges the hold again'),
  },
  {
    name: 'a guard in SQLite runs an asynchronous job outside of its transaction',
    file: 'packages/guards/src/sqlite.ts',
    find: "if (Object.prototype.toString.call(job) === '[object AsyncFunction]') throw new TypeError(isAsync);",
    replace: '',
    tests: one('sqlite', 'better-sqlite3 refuses a job that is asynchronous'),
  },
  {
    name: 'a guard in Redis compares only when it claims',
    file: 'packages/guards/src/redis-script.ts',
    find: "if found and found > ARGV[1] then return {'stale', found} end",
    replace: "if ARGV[2] == 'claim' and found and found > ARGV[1] then return {'stale', found} end",
    tests: one('redis', 'ioredis refuses a later claim that came during the job'),
  },
  {
    name: 'a guard in Redis writes although its key is gone',
    file: 'packages/guards/src/redis-script.ts',
    find: 'elseif found ~= ARGV[1] then',
    replace: 'elseif false then',
    tests: one('redis', 'ioredis refuses a key of another kind'),
  },
  {
    name: 'a guard in Redis compares tokens of different lengths as texts',
    file: 'packages/guards/src/redis.ts',
    find: ".padStart(20, '0')",
    replace: '',
    tests: every('ioredis commits what the holder wrote'),
  },
];

function every(...named) {
  return one('every-store', ...named);
}

function one(file, ...named) {
  return { files: [`packages/guards/test/${file}.test.ts`], named };
}
