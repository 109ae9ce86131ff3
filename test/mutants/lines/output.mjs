import { tests } from '../named-tests.mjs';

/** Output. */
export const mutants = [
  {
    name: "console.log shows a client's credentials",
    file: 'src/client/lock-client.ts',
    find: 'return { hosts: describeHosts({ hosts }), chroot',
    replace: 'return { ...this.#source.options, hosts: describeHosts({ hosts }), chroot',
    tests: tests('behaviour/shown', 'are texts without bigints, internals or credentials'),
  },
  {
    name: 'the command speaks of options of the library',
    file: 'packages/zklock/src/cli/own-words.ts',
    find: 'text = text.replaceAll(words, own);',
    replace: 'text = text.replaceAll(words, words);',
    tests: tests('behaviour/operator/ls-status', 'exit with 77 if the path may not be read'),
  },
  {
    name: 'an error carries control characters of other clients to the terminal',
    file: 'src/support/lock-error.ts',
    find: 'super(printableLines(message), options);',
    replace: 'super(message, options);',
    tests: tests('unit/board/printable', 'is so in errors'),
  },
  {
    name: 'JSON carries control characters of other clients to the terminal',
    file: 'src/support/printable.ts',
    find: 'return printableLines(JSON.stringify(value, null, indent));',
    replace: 'return JSON.stringify(value, null, indent);',
    tests: tests('unit/board/printable', 'keeps lines and JSON'),
  },
  {
    name: 'a mark is shown as the name of the holder',
    file: 'src/internals/known-holder.ts',
    find: 'isIP(text) === 0 ? undefined : text',
    replace: "text === '' ? undefined : text",
    tests: tests('behaviour/operator/ls-status', 'never show a request to release as a name'),
  },
  {
    name: 'the data of an application are shown as a host',
    file: 'src/internals/known-holder.ts',
    find: 'isIP(text) === 0 ? undefined : text',
    replace: '/^[\\w.:%-]+$/.test(text) ? text : undefined',
    tests: tests('unit/known-holder', 'only where the data are an address'),
  },
  {
    name: 'a znode that has left is shown as not readable without end',
    file: 'packages/zklock/src/board/znode-tree.ts',
    find: 'if (!znode && !this.#directories.has(path) && path !== this.#root) return;',
    replace: '',
    tests: tests('behaviour/board/unreadable', 'forgets a refused participant'),
  },
  {
    name: 'a lock that is named as a participant stays not readable',
    file: 'packages/zklock/src/board/znode-tree.ts',
    find: 'if (!isDirectory || directory?.participants.get(name)?.unreadableSince !== undefined) this.#feed?.read(path);',
    replace: 'if (!isDirectory) this.#feed?.read(path);',
    tests: tests('behaviour/board/unreadable', 'which is named as a participant'),
  },
  {
    name: 'a semaphore without a container for its waiters is no semaphore',
    file: 'packages/zklock/src/board/lock-view.ts',
    find: 'if (!directories.has(locks.path) && leases.participants.size === 0) return undefined;',
    replace: 'if (!directories.has(locks.path)) return undefined;',
    tests: tests('behaviour/board/lock-board', 'whose empty container for waiters'),
  },
  {
    name: 'a session that is to end abandons the release of its last hold',
    file: 'src/zookeeper/session/session.ts',
    find: "void this.request(sync('/')).catch(ignore).then(end)",
    replace: 'end()',
    tests: tests('behaviour/field/flipped-bit', 'ends its session when that holds nothing any more'),
  },
  {
    name: 'zklock release calls a lock of an unknown kind free',
    file: 'packages/zklock/src/cli/take-from-holder.ts',
    find: 'return isUnknown ? strangersText(view?.others ?? board.othersAt(path)) : undefined;',
    replace: 'return undefined;',
    tests: tests('behaviour/operator/ls-status', 'never call a lock free that may be'),
  },
];
