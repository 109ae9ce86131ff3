import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { root } from './bootstrap.mjs';

/** The suites of `npm test` that need no server, as folders of `test`. */
export const fastSuites = ['unit', 'properties', 'lab', 'demo', 'chaos', 'simulation', 'behaviour'];

/**
 * The tests of behaviour that the gate also runs on a real server: those of requests, order and rights, whose outcomes do
 * not depend on the time.
 */
export const onRealServer = [
  'accounts/lock-acls',
  'chroot',
  'connection/reconnect',
  'hand-over',
  'lost-replies',
  'multi-lock',
  'mutex',
  'parents',
  'read-write',
  'requests',
  'revocation',
  'security/secrets',
  'security/session-over-tls',
  'semaphore/semaphore',
  'sticky',
  'transaction',
  'weights/order',
].map((name) => `test/behaviour/${name}.test.ts`);

/**
 * The tests of behaviour for both worlds: none that reads the clock or counts the transactions of a time, because it
 * compares exactly, counts connections of quiet sessions, or has a limit of five minutes or more, because it waits for as
 * long; and over TLS, none whose servers speak plainly. Named files run in either world.
 */
export function behaviourOfBothWorlds() {
  const limitsOf = (text) =>
    [...text.matchAll(/(?:this|\}\))\.timeout\((.+)\)/g)].map(([, ms]) => Number(ms.replaceAll('_', '')));
  const others = ['many-readers', ...(process.env.ZK_TLS === '1' ? ['newcomer/answers'] : [])];
  return filesOf([globOf('behaviour')]).filter((file) => {
    if (others.some((name) => file === `test/behaviour/${name}.test.ts`)) return false;
    const text = readFileSync(join(root, file), 'utf8');
    return !/\bnow\(\)|zxidOf|answersPerSecond/.test(text) && limitsOf(text).every((ms) => ms < 300_000);
  });
}

/** The tests of a real server that `npm test` ends with. The gate runs all of `test/contract`. */
export const contract = ['test/contract/*.test.ts'];

/** The tests that compare the embedded server with a real one of the same version. */
export const comparisons = ['compare', 'expiry', 'settings', 'words'].map(
  (name) => `test/contract/embedded/${name}.test.ts`,
);

/** Curator's own tests, which need no server but the embedded one. */
export const curatorTests = 'test/interop/curator-tests.test.ts';

/** The suites that run on virtual time, unless TEST_WORLD is `real`. */
const virtualSuites = ['behaviour', 'faults'];

export function globOf(suite) {
  return `test/${suite}/**/*.test.ts`;
}

export function suiteOf(file) {
  return file.split('/')[1];
}

export function isVirtual(file) {
  return virtualSuites.includes(suiteOf(file)) && process.env.TEST_WORLD !== 'real';
}

/** @returns the test files of these paths and globs. A path stands for itself; a glob without files stands for none. */
export function filesOf(paths) {
  const named = (path) => path.replaceAll('\\', '/');
  const tests = ['test', 'packages/guards/test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${named(file)}`),
  );
  const found = paths.flatMap((path) =>
    path.includes('*') ? tests.filter(matcherOf(path)).sort() : [named(relative(root, resolve(root, path)))],
  );
  return [...new Set(found)];
}

/** A bigger file takes longer, and each takes some time to load. */
export function weightOf(file) {
  return 2_000 + statSync(join(root, file)).size;
}

function matcherOf(glob) {
  const pattern = glob
    .replace(/[.+^${}()|[\]\\?]/g, '\\$&')
    .split('**/')
    .map((part) => part.replaceAll('*', '[^/]*'))
    .join('.*');
  const regex = new RegExp(`^${pattern}$`);
  return (file) => regex.test(file);
}
