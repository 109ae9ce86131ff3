import { expect } from 'chai';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { commandErrorText, ownWords } from '../../../packages/zklock/src/cli/own-words.ts';
import { TlsError } from '../../../src/zookeeper/network/tls-error.ts';

describe('the words of the command', () => {
  it('replace words that the library says', () => {
    const src = fileURLToPath(new URL('../../../src', import.meta.url));
    const said = readdirSync(src, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('own-words.ts'))
      .map((file) => readFileSync(join(src, file), 'utf8').replaceAll('\\`', '`'))
      .join('\n');
    // The name of an option gets its marks from `expected`.
    for (const [words] of ownWords)
      expect(said, words).to.contain(/^`\w+`$/.test(words) ? `'${words.slice(1, -1)}'` : words);
  });

  it('have no option of the library in an error of TLS', () => {
    const cause = Object.assign(new Error('no match'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    expect(commandErrorText(new TlsError('zk1:2281', 'wrong-name', cause)))
      .to.contain('or give it by --tls-servername')
      .and.not.to.contain('option');
  });
});
