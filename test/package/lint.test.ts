import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { run } from './support/command.ts';
import { tarball } from './support/tarball.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

describe('the package, checked by linters', function () {
  this.timeout(60_000);

  it('passes publint without a message', async () => {
    const { buffer } = new Uint8Array(readFileSync(tarball()));
    const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg))).to.deep.equal([]);
  });

  it('resolves to its types by import and by require, including old resolution, according to attw', async () => {
    // Otherwise attw asks the registry for @types of a package that contains its own types.
    await run(
      'node_modules/.bin/attw',
      [tarball(), '--profile', 'strict', '--no-definitely-typed', '--format', 'ascii', '--no-color'],
      root,
    );
  });
});
