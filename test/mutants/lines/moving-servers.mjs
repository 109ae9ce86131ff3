import { tests } from '../named-tests.mjs';

const moving = (named) => tests('behaviour/connection/moving-servers', named);
const slow = (title) => tests('behaviour/connection/slow-server-list', title);

/** A list of servers that changes, and a client that connects later. */
export const mutants = [
  {
    name: 'the list of servers is not asked for after a round of failures',
    file: 'src/zookeeper/connection/dialler.ts',
    find: 'servers.ask?.(clock.now() - this.#outageSince);',
    replace: '',
    tests: moving('by a function keeps its session'),
  },
  {
    name: 'the list of servers is asked for only after whole rounds',
    file: 'src/zookeeper/connection/dialler.ts',
    find: 'this.#outageSince = clock.now();\n      this.#askLater();',
    replace: 'this.#outageSince = clock.now();',
    tests: moving('every two minutes while one attempt lasts longer'),
  },
  {
    name: 'a connection keeps its first list of servers',
    file: 'src/zookeeper/connection/dialler.ts',
    find: 'if (servers.hosts === this.#list) return;',
    replace: 'if (this.#list.length > 0) return;',
    tests: moving('by a function keeps its session'),
  },
  {
    name: 'the list of servers is asked for in every round',
    file: 'src/client/options/server-list.ts',
    find: 'now - this.#askedAt < pauseMs',
    replace: 'now < 0',
    tests: moving('asked less often in a long outage'),
  },
  {
    name: 'the chroot changes with the list of servers',
    file: 'src/client/options/server-list.ts',
    find: 'if (this.isKnown) refuseOtherChroot(this.#known, next);',
    replace: '',
    tests: moving('returns another chroot'),
  },
  {
    name: 'a list of servers that never comes is waited for without a limit',
    file: 'src/client/options/server-list.ts',
    find: 'this.#clock.after(limitMs,',
    replace: 'this.#clock.after(1e9,',
    tests: moving('never settles, and says so once'),
  },
  {
    name: 'the list of servers is asked for in the context of a job',
    file: 'src/client/options/server-list.ts',
    find: 'this.#take(callApplication(this.#name));',
    replace: 'this.#take(this.#name());',
    tests: moving('outside of every lock context'),
  },
  {
    name: 'a closed client waits for its list of servers',
    file: 'src/client/lock-client.ts',
    find: 'this.#source.servers.close();',
    replace: '',
    tests: moving('closes while its function is pending'),
  },
  {
    name: 'an acquire before the first connection is not told of refused credentials',
    file: 'src/client/session-keeper.ts',
    find: 'else if (error) fail(error);',
    replace: '',
    tests: tests('behaviour/connection/lazy', 'that the servers refuse its account'),
  },
  {
    name: 'a client whose first session the servers refuse by SASL opens no other session',
    file: 'src/client/session-keeper.ts',
    find: '&& !this.#source.options.isLazy;',
    replace: ';',
    tests: tests('behaviour/connection/lazy', 'so by SASL'),
  },
  {
    name: 'the time of a first answer is divided by the servers that were known when the session opened',
    file: 'src/zookeeper/session/session-shell.ts',
    find: 'get hosts() {\n        return servers.hosts.length;\n      },',
    replace: 'hosts: servers.hosts.length,',
    tests: slow('has the next server dialled in good time'),
  },
  {
    name: 'a server that grants and ends each connection hides that the list has moved',
    file: 'src/zookeeper/connection/dialler.ts',
    find: 'this.#cancelPause();\n    this.grantedAt =',
    replace: 'this.#endOutage();\n    this.grantedAt =',
    tests: slow('grants the session and ends each connection'),
  },
  {
    name: 'the list is not asked for while all servers refuse the account',
    file: 'src/client/session-keeper.ts',
    find: "if (why === 'auth-failed') this.#source.servers.ask();",
    replace: '',
    tests: slow('while all servers refuse the account'),
  },
  {
    name: 'an attempt goes on although its host has left the list',
    file: 'src/zookeeper/connection/dialler.ts',
    find: 'this.#dropIfMoved(host, handshake);',
    replace: '',
    tests: slow('ends an attempt to a server that has left'),
  },
  {
    name: 'a slow answer is discarded because of a later call',
    file: 'src/client/options/server-list.ts',
    find: 'if (call < this.#settled) return;',
    replace: 'if (call < this.#call) return;',
    tests: slow('counts although a later call was made'),
  },
  {
    name: 'connect gives up a list that is still on its way',
    file: 'src/client/first-connection.ts',
    find: ' && !servers.isPending) fail',
    replace: ') fail',
    tests: slow('takes as long as `connectionTimeoutMs` allows'),
  },
  {
    name: 'a multi-lock takes two locks of one path in the given order before their servers are known',
    file: 'src/multi-lock/inter-process-multi-lock.ts',
    find: "(ofA === '' || ofB === '')",
    replace: 'false',
    tests: slow('their order is not known yet'),
  },
  {
    name: 'the message of a slow connect names servers that were not tried',
    file: 'src/client/first-connection.ts',
    find: "isTried ? describeHosts(servers) : ''",
    replace: 'isTried ? describeHosts(servers) : describeHosts(servers)',
    tests: slow('is not named by the message of a slow connect'),
  },
];
