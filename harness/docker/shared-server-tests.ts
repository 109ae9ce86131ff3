import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** A call of the shared server, or of a fixture that is not told to start a server of its own. */
const asksForShared = /\bsharedZooKeeper\(|OfEachTest\((?!.*\bserver:)/;

/**
 * The integration tests that run against the shared ZooKeeper. The others start servers of their own, whatever the
 * shared one is.
 */
export function sharedServerTests(): string[] {
  return readdirSync(join(root, 'test/integration'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(root, 'test/integration', name))
    .filter((file) => asksForShared.test(readFileSync(file, 'utf8')))
    .sort();
}
