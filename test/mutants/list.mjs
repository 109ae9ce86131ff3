import { readdirSync } from 'node:fs';

const folder = new URL('lines/', import.meta.url);
const files = readdirSync(folder).sort();
const modules = await Promise.all(files.map((file) => import(new URL(file, folder))));

/**
 * The most important lines of src: a mutation of one of them causes two owners at once, a lost lock that its holder
 * does not learn of, a znode that stays without a limit, or a call that never settles. `find` must occur exactly once.
 * When it is replaced, at least one of the tests whose names contain one of `named` must fail. There is one file for
 * each kind of damage.
 */
export const mutants = modules.flatMap((module) => module.mutants);
