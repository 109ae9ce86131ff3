import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Matches a call of the shared server, or of a fixture without a server of its own. */
const asksForShared = /\bsharedZooKeeper\(|OfEachTest\((?![^)]*\bserver:)/;

/**
 * The integration tests that use the shared ZooKeeper. The other tests start their own servers, independent of the
 * shared one.
 */
export function sharedServerTests(): string[] {
  return readdirSync(join(root, 'test/behaviour'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(root, 'test/behaviour', name))
    .filter((file) => asksForShared.test(readFileSync(file, 'utf8')))
    .sort();
}
