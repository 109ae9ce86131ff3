import { readdirSync } from 'node:fs';
import { readBroken } from '../../scripts/mutants/read-broken.mjs';

const folder = new URL('lines/', import.meta.url);
const all = readdirSync(folder)
  .sort()
  .flatMap((file) => readBroken(new URL(file, folder)));

/**
 * The most important lines of src: a mutation of one of them causes two owners at once, a lost lock that its holder
 * does not learn of, a znode that stays without a limit, or a call that never settles. `find` must occur exactly once.
 * When it is replaced, at least one of the tests whose names contain one of `named` must fail. There is one file for
 * each kind of damage.
 */
export const mutants = all.map(({ name, edits: [edit], tests }) => ({ name, ...edit, tests }));
