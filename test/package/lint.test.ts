import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { run } from './support/command.ts';
import { tarball } from './support/tarball.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

const libraries = [
  'zookeeper-fair-lock',
  ...['testing', 'opentelemetry', 'kerberos', 'guards'].map((name) => `@zookeeper-fair-lock/${name}`),
];

describe('the packages, checked by linters', function () {
  this.timeout(60_000);

  for (const name of ['zklock', ...libraries])
    it(`${name} passes publint without a message`, async () => {
      const { buffer } = new Uint8Array(readFileSync(tarball(name)));
      const { messages, pkg } = await publint({ pack: { tarball: buffer }, strict: true });
      expect(messages.map((message) => formatMessage(message, pkg))).to.deep.equal([]);
    });

  for (const name of libraries)
    it(`${name} resolves to its types by import and by require, including old resolution, according to attw`, async () => {
      // Otherwise attw asks the registry for @types of a package that contains its own types.
      await run(
        'node_modules/.bin/attw',
        [tarball(name), '--profile', 'strict', '--no-definitely-typed', '--format', 'ascii', '--no-color'],
        root,
      );
    });
});
