import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { run } from './support/command.ts';
import { tarball } from './support/tarball.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the package, as its linters see it', () => {
  it('gives publint nothing to complain about', async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball()));
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).to.deep.equal([]);
  });

  it('resolves to its types by import and by require, old resolution included, says attw', async () => {
    // The registry would be asked for @types of a package that brings its own types.
    await run(
      'node_modules/.bin/attw',
      [tarball(), '--profile', 'strict', '--no-definitely-typed', '--format', 'ascii', '--no-color'],
      root,
    );
  }).timeout(60_000);
});
