import { expect } from 'chai';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const password = 'Open-Sesame-4711';
const examples = ['stack', 'message', 'cause', 'list', 'field', 'symbol', 'long message'];

interface Output {
  /** The codes of the errors of the clients. */
  readonly codes: string[];
  /** How many tokens of SASL the servers have answered. */
  readonly tokens: number;
  /** The strings with the password that can be reached from an error. */
  readonly found: string[];
}

describe('the heap of a process whose clients were refused', () => {
  it('has no password in a string that can be reached from an error, except in the errors of this test', async function () {
    this.timeout(120_000);
    const args = ['--heap-snapshot-string-limit=1000000', '--import=tsx'];
    const program = fileURLToPath(new URL('child/refused-clients.ts', import.meta.url));
    // A child that hangs must not outlive the test.
    const { stdout } = await promisify(execFile)(process.execPath, [...args, program, password], { timeout: 100_000 });
    const { codes, tokens, found } = JSON.parse(stdout) as Output;
    expect(codes).to.deep.equal([
      'ERR_LOCK_CONNECTION_TIMEOUT',
      'ERR_LOCK_CONNECTION_TIMEOUT',
      'ERR_LOCK_AUTH_FAILED',
      'ERR_LOCK_AUTH_FAILED',
      'ERR_LOCK_AUTH_FAILED',
      'ERR_LOCK_LOST',
      'ERR_LOCK_TIMEOUT',
    ]);
    expect(tokens).to.equal(2);
    expect(found.filter((text) => !text.includes('example in a '))).to.deep.equal([]);
    for (const place of examples)
      expect(found.some((text) => text.includes(`example in a ${place}: `))).to.equal(true, place);
  });
});
