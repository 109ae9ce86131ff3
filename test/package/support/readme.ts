import { readFileSync } from 'node:fs';
import { expect } from 'chai';

/** The command in backticks that begins with `start`, as the README shows it. */
export function readmeCommand(start: string): string {
  const readme = readFileSync(new URL('../../../README.md', import.meta.url), 'utf8');
  const commands = [...readme.matchAll(/`([^`\n]+)`/g)].map(([, command = '']) => command);
  const found = commands.filter((command) => command.startsWith(start));
  expect(found, `commands of the README that start with ${start}`).to.have.length(1);
  return found[0] ?? '';
}
