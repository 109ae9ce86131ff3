import { tests } from '../named-tests.mjs';

const board = (...named) => tests('behaviour/board/lock-board', ...named);

/** The live view of all locks: a row that is stale or wrong, a page that obeys another site. */
export const mutants = [
  {
    name: 'the board keeps the znodes that left during an outage',
    file: 'src/board/znode-tree.ts',
    find: 'for (const name of directory.names()) if (!present.has(name)) this.deleted(join(path, name));',
    replace: '',
    tests: board('shows no stale row when it is back'),
  },
  {
    name: 'the board keeps the locks below a znode that it may not list any more',
    file: 'src/board/znode-tree.ts',
    find: 'for (const name of this.#directories.get(path)?.names() ?? []) this.deleted(join(path, name));',
    replace: '',
    tests: board('shows the locks below a znode again'),
  },
  {
    name: 'the board shows a lock as free that it may not list any more',
    file: 'src/board/lock-board.ts',
    find: 'this.#tree.isRefused(path) ? undefined : lockAt(',
    replace: 'lockAt(',
    tests: board('shows no row of a lock that may not be listed any more'),
  },
  {
    name: 'the board does not say that it is cut off',
    file: 'src/board/znode-tree.ts',
    find: 'if (wasConnected) this.#listener.cutOff();',
    replace: '',
    tests: board('says that it is cut off'),
  },
  {
    name: 'the board does not read a znode again after a write',
    file: 'src/board/znode-tree.ts',
    find: 'if (own ? own.isWeighted : directory?.participants.has(name)) this.#feed?.read(path);',
    replace: '',
    tests: board('shows an idle sticky lock as idle', 'shows hostile data as text'),
  },
  {
    name: 'a mark hides the data of the holder',
    file: 'src/board/participant-znode.ts',
    find: 'if (mark !== undefined && before?.czxid === stat.czxid) return { ...before, mark };',
    replace: '',
    tests: board('keeps the owner’s data'),
  },
  {
    name: 'a permit that is awaited counts as held',
    file: 'src/board/lock-view.ts',
    find: 'holders: permits.slice(0, permits.length - awaited(permits, waiters[0])),',
    replace: 'holders: permits,',
    tests: tests('unit/board/events', 'counts a permit that its owner still waits for'),
  },
  {
    name: 'the console accepts every host name',
    file: 'src/console/request-guard.ts',
    find: 'if (name === undefined || !isOwnName(name, listenHost, localAddress))',
    replace: 'if (name === undefined)',
    tests: tests('unit/console/request-guard', 'refuses the host evil.example'),
  },
  {
    name: 'the console accepts requests of other sites',
    file: 'src/console/request-guard.ts',
    find: "if (origin !== undefined && !isSameOrigin(origin, host ?? ''))",
    replace: 'if (origin === undefined && host === undefined)',
    tests: tests('unit/console/request-guard', 'refuses requests of other sites'),
  },
  {
    name: 'the console takes a lock without its token',
    file: 'src/console/control.ts',
    find: "if (typeof token !== 'string' || !isSame(token, this.#token))",
    replace: "if (typeof token === 'number')",
    tests: tests('contract/console-server', 'only with the token of the page'),
  },
  {
    name: 'the console touches znodes that it does not show',
    file: 'src/console/control.ts',
    find: 'if (!this.#isShown(path))',
    replace: 'if (path.length === 0)',
    tests: tests('contract/console-server', 'only the znodes that it shows'),
  },
  {
    name: 'the console keeps the connection of a page that reads nothing',
    file: 'src/console/console-server.ts',
    find: "if (method !== 'POST') response.setTimeout(this.#stalledMs);",
    replace: '',
    tests: tests('contract/console-server', 'of a page that takes no byte'),
  },
  {
    name: 'the console ends a page that has nothing to read',
    file: 'src/console/event-stream.ts',
    find: "this.#send(': \\n\\n')",
    replace: 'undefined',
    tests: tests('contract/console-server', 'a page that has nothing to read'),
  },
  {
    name: 'the console gives one address all places',
    file: 'src/console/event-stream.ts',
    find: 'ofAddress >= mostPagesOfAddress',
    replace: 'ofAddress >= mostPages',
    tests: tests('contract/console-server', 'a part of the places only'),
  },
  {
    name: 'the terminal obeys the data of a lock',
    file: 'src/support/printable.ts',
    find: 'return text.replace(unprintable, escaped);',
    replace: 'return text.replace(unprintable, (character) => character);',
    tests: tests('unit/board/printable', 'has no control character'),
  },
];
