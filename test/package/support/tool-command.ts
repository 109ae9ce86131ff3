import { readFileSync } from 'node:fs';
import { expect } from 'chai';

/** The command in backticks that begins with `start`, as the page tells users to call it. */
export function toolCommand(start: string, page = 'docs/tools.md'): string {
  const text = readFileSync(new URL(`../../../${page}`, import.meta.url), 'utf8');
  const commands = [...text.matchAll(/`([^`\n]+)`/g)].map(([, command = '']) => command);
  const found = commands.filter((command) => command.startsWith(start));
  expect(found, `commands of ${page} that start with ${start}`).to.have.length(1);
  return found[0] ?? '';
}
