import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const hooks = join(root, 'test/support/hooks.ts');

/** The integration tests that run against the shared ZooKeeper. The others start servers of their own, whatever the shared one is. */
export function sharedServerTests(): string[] {
  return readdirSync(join(root, 'test/integration'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(root, 'test/integration', name))
    .filter((file) => imports(file, hooks))
    .sort();
}

/** Whether a file under test/ imports another, directly or not. */
function imports(file: string, wanted: string, seen = new Set<string>()): boolean {
  if (file === wanted) return true;
  if (seen.has(file) || !file.startsWith(join(root, 'test/'))) return false;
  seen.add(file);
  const names = [...readFileSync(file, 'utf8').matchAll(/^(?:import|export|\}) .*from '(\.[^']*\.ts)'/gm)].map(([, name = '']) => name);
  return names.some((name) => imports(join(file, '..', name), wanted, seen));
}
