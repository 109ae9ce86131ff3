import { tests } from '../named-tests.mjs';

/** A znode that stays. */
export const mutants = [
  {
    name: 'a lease whose end leaves the znode in place while its job runs',
    file: 'src/internals/grant.ts',
    find: 'void this.node.handOverOrDelete();',
    replace: '',
    tests: tests('behaviour/leases/expiry', 'lets the next waiter in, though the job hangs'),
  },
  {
    name: 'a delete whose answer is lost is not repeated',
    file: 'src/internals/lock-node.ts',
    find: "else if (isZooKeeperError(error, 'CONNECTION_LOSS')) await this.session.whenConnected();",
    replace: "else if (isZooKeeperError(error, 'CONNECTION_LOSS')) return;",
    tests: tests('behaviour/lost-replies', 'of a delete: it is repeated'),
  },
  {
    name: 'a lost create is searched without a quorum write before the list',
    file: 'src/internals/find-created.ts',
    find: 'const written = session.request(checkServers());',
    replace: 'const written = Promise.resolve();',
    tests: tests('behaviour/grants', 'behind its own quorum write'),
  },
  {
    name: 'a grant that arrives after the caller has given up is kept',
    file: 'src/support/deadline.ts',
    find: 'if (this.isExpired) late(value);',
    replace: 'if (this.isExpired) void value;',
    tests: tests('behaviour/grants', 'if the caller aborts in the same moment'),
  },
  {
    name: 'a watch stays on the server when its waiter has left',
    file: 'src/zookeeper/session-watches.ts',
    find: 'void inNoContext(() => this.#session.request(removeWatch(path, kind)).catch(ignore));',
    replace: '',
    tests: tests('behaviour/requests', 'of a waiter that gives up remove its watch'),
  },
  {
    name: 'each first acquire of one context queues up behind the other',
    file: 'src/mutex/lock-context.ts',
    find: 'this.#pending.set(key, acquiring);',
    replace: '',
    tests: tests('behaviour/contexts/first-acquires', 'use one znode, and both are granted'),
  },
  {
    name: 'a reader overtakes the first acquire of its own writer, and waits for it',
    file: 'src/mutex/shared-use.ts',
    find: ' ?? (this.#pairKey === undefined ? undefined : owner.pendingOf(this.#pairKey));',
    replace: ';',
    tests: tests(
      'behaviour/identity/kinds',
      'let a reader wait for the first acquire of its writer by the other object',
    ),
  },
  {
    name: 'a search in a list that is not behind its write, because the server put the write off',
    file: 'src/internals/find-created.ts',
    find: 'wasPostponed ? await session.find(getChildren(parent)) : await listed)',
    replace: 'wasPostponed ? await listed : await listed)',
    tests: tests('behaviour/grants', 'also if the server put the write off'),
  },
  {
    name: 'the owner in the answer to a create is not looked at',
    file: 'src/internals/own-creation.ts',
    find: 'if (ephemeralOwner !== session.id)',
    replace: 'if (ephemeralOwner < 0n && session.id < 0n)',
    tests: tests('behaviour/field/flipped-bit', 'as a persistent one'),
  },
  {
    name: 'an answer that does not fit is searched for under the uuid only',
    file: 'src/internals/lock-node.ts',
    find: 'isElsewhere: this.#state === contradicted,',
    replace: 'isElsewhere: false,',
    tests: tests('behaviour/field/flipped-bit', 'in a create, at any place'),
  },
  {
    name: 'a name with one wrong character is not searched for',
    file: 'src/internals/strays.ts',
    find: 'const mostChanged = 4;',
    replace: 'const mostChanged = 0;',
    tests: tests('behaviour/field/flipped-bit', 'in a create, at any place'),
  },
  {
    name: 'a znode that the server does not find is believed to be deleted',
    file: 'src/internals/lock-node.ts',
    find: 'if (lost) this.#search(lost);',
    replace: 'void lost;',
    tests: tests('behaviour/field/flipped-bit', "in a create's answer", 'in a delete, at any place'),
  },
  {
    name: "a downgrade's answer with another path is believed",
    file: 'src/internals/lock-node.ts',
    find: 'if (created !== path)',
    replace: 'if (created === undefined)',
    tests: tests('behaviour/field/flipped-bit', 'in a downgrade, at any place'),
  },
];
