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
];
