import { readFileSync } from 'node:fs';
import { expect } from 'chai';

/** The command in backticks that begins with `start`, as docs/tools.md tells users to call it. */
export function toolCommand(start: string): string {
  const page = readFileSync(new URL('../../../docs/tools.md', import.meta.url), 'utf8');
  const commands = [...page.matchAll(/`([^`\n]+)`/g)].map(([, command = '']) => command);
  const found = commands.filter((command) => command.startsWith(start));
  expect(found, `commands of docs/tools.md that start with ${start}`).to.have.length(1);
  return found[0] ?? '';
}
