import { tests } from '../named-tests.mjs';

/** A name server, or an address, that keeps a client from the servers. */
export const mutants = [
  {
    name: 'every attempt begins another lookup of the same name',
    file: 'src/zookeeper/network/host-names.ts',
    find: 'this.#lookups.get(name) ??',
    replace: '',
    tests: tests('unit/host-names', 'one for each name'),
  },
  {
    name: 'two lookups hang at the same time',
    file: 'src/zookeeper/network/host-names.ts',
    find: "for (const lookup of lookups) if (lookup.stage.at === 'waiting') this.#probe(lookup);",
    replace: 'this.#begin(next);',
    tests: tests('behaviour/connection/lookups', 'for two of three names'),
  },
  {
    name: 'a hanging lookup keeps all other names from being looked up',
    file: 'src/zookeeper/network/host-names.ts',
    find: 'stage.hangs = true;',
    replace: '',
    tests: tests('unit/host-names', 'overtake one that hangs'),
  },
  {
    name: 'names are looked up for a client that was closed',
    file: 'src/zookeeper/connection/dialler.ts',
    find: 'this.#cancelPause();\n    this.#routes.forget();',
    replace: 'this.#cancelPause();',
    tests: tests('behaviour/connection/lookups', 'asked nothing more'),
  },
  {
    name: 'a late lookup makes a known server unreachable',
    file: 'src/zookeeper/network/routes.ts',
    find: "found(addresses ? { is: 'found', addresses } : { is: 'pending' });",
    replace: "found({ is: 'pending' });",
    tests: tests('behaviour/connection/lookups', 'whose addresses are known'),
  },
  {
    name: 'a dead address takes the whole attempt',
    file: 'src/zookeeper/network/address-race.ts',
    find: 'cancel: clock.after(headStartMs, () => this.#dialNext())',
    replace: 'cancel: clock.after(Infinity, () => this.#dialNext())',
    tests: tests('behaviour/connection/far', 'by the first attempt'),
  },
  {
    name: 'the addresses that lose the race stay connected',
    file: 'src/zookeeper/network/address-race.ts',
    find: 'if (other !== link) other.destroy();',
    replace: 'void other;',
    tests: tests('unit/address-race', 'is won by the first'),
  },
  {
    name: 'an attempt over a long way is shorter than its handshakes',
    file: 'src/zookeeper/network/attempt-time.ts',
    find: 'Math.max(shortestMs, neededMs,',
    replace: 'Math.max(shortestMs,',
    tests: tests('behaviour/connection/far', 'keeps its holds in cuts'),
  },
];
