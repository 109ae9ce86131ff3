import { readBroken } from '../../scripts/mutants/read-broken.mjs';

/** Builds that the simulation must find: those of chaos, those of one planted line, and more. */
export const builds = ['../../chaos/broken/builds.txt', 'planted.txt', 'builds.txt'].flatMap((file) =>
  readBroken(new URL(file, import.meta.url)),
);
