import { tests } from '../named-tests.mjs';

/** A write by a process that does not hold the lock, or a result that is not true. */
export const mutants = [
  {
    name: 'a transaction without the check of the hold’s znode',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'multi<readonly unknown[]>(...paths.map(checkExists), ...',
    replace: "multi<readonly unknown[]>(...paths.map(() => checkExists('/')), ...",
    tests: tests('integration/transaction', 'if the servers have no znode of the hold'),
  },
  {
    name: 'a transaction of a multi-lock that checks one znode',
    file: 'src/multi-lock/multi-hold.ts',
    find: 'paths: () => guards.flatMap(({ paths }) => paths()),',
    replace: 'paths: () => first.paths(),',
    tests: tests('integration/transaction', 'checks the znodes of all its holds'),
  },
  {
    name: 'a transaction that is sent though its hold has ended',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'beforeWrite: assertValid,',
    replace: '',
    tests: tests('integration/transaction', 'attaches anew after the hold was released'),
  },
  {
    name: 'a transaction that is judged in the middle of its frame, where the judgement may send a request',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'beforeWrite: assertValid,\n      write: (to) => {',
    replace: 'write: (to) => {\n        assertValid();',
    tests: tests('integration/transaction', 'leaves the connection in order'),
  },
  {
    name: 'a transaction that waits for a connection beyond the end of the hold',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'const cancel = client.clock.after(this.#guard.remainingMs(), wake);',
    replace: 'const cancel = client.clock.after(2 ** 30, wake);',
    tests: tests('integration/transaction', 'after its lease has ended while there is no connection'),
  },
  {
    name: 'a transaction that is repeated though the servers may have done it',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'if (sending.wasWritten) throw this.#unknown(error);',
    replace: '',
    tests: tests('integration/transaction', 'answer is lost'),
  },
  {
    name: 'a transaction that a leader refused because of the session proves that the session lives',
    file: 'src/zookeeper/connection.ts',
    find: 'this.#listener.answered(operation, sentAt, operation.sessionError?.(value) ?? 0);',
    replace: 'this.#listener.answered(operation, sentAt, 0);',
    tests: tests('integration/transaction', 'because the session has ended'),
  },
  {
    name: 'a transaction that the lost session refused is an error of its data',
    file: 'src/mutex/guarded-transaction.ts',
    find: "if (value.is === 'done' || !value.error.isRetryable) return value;",
    replace: 'return value;',
    tests: tests('integration/transaction', 'because the session has ended'),
  },
  {
    name: 'an ephemeral znode of a transaction is left behind by close()',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'this.#guard.session.znodes += this.#ephemerals;',
    replace: '',
    tests: tests('integration/transaction', 'its answer read, has it deleted by close()'),
  },
  {
    name: 'a transaction that overwrites the claim of a lock with weights',
    file: 'src/mutex/guarded-transaction.ts',
    find: 'this.#refuseClaim(valid);',
    replace: '',
    tests: tests('integration/transaction', 'by which a lock with weights knows its holder'),
  },
  {
    name: 'a numbered znode of the root that is created beside the chroot',
    file: 'src/zookeeper/operations.ts',
    find: '(isSequential(mode) ? to.pathStart(path) : to.path(path))',
    replace: 'to.path(path)',
    tests: tests('integration/transaction', 'of a client with a chroot'),
  },
  {
    name: 'a version 0 that means any version',
    file: 'src/zookeeper/operations.ts',
    find: "return operation('check', 'write', path, (to) => to.path(path).int(version), nothing);",
    replace: "return operation('check', 'write', path, (to) => to.path(path).int(version || anyVersion), nothing);",
    tests: tests('integration/transaction', 'compares version 0 in check'),
  },
];
