import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { unownedAdvice } from '../../src/internals/znode/unowned.ts';

/** The last word of the advice, as bash reads it. */
function readByBash(path: string): string {
  const word = unownedAdvice(path).split('zkCli.sh delete ')[1] ?? '';
  return execFileSync('bash', ['-c', `printf %s ${word}`], { encoding: 'utf8', env: { LC_ALL: 'C.UTF-8' } });
}

describe('the command that deletes a znode that no session owns', () => {
  for (const path of [
    '/locks/orders/42/lock-0000000000',
    '/locks/two words/lock-0000000000',
    "/locks/it's/lock-0000000000",
    '/locks/$HOME`ls`"\\!*;&|<>(){}[]?#~/lock-0000000000',
    '/-/straße 東京/lock-0000000000',
    "/locks/it's a \\ and \u202egnp\u200b/lock-0000000000",
  ])
    it(`is one word of bash for ${JSON.stringify(path)}`, () => {
      expect(readByBash(path)).to.equal(path);
    });

  it('is not quoted where no shell needs it, and shows no character that a terminal obeys', () => {
    expect(unownedAdvice('/a/lock-0000000000')).to.match(/ delete \/a\/lock-0000000000$/);
    expect(unownedAdvice('/a/\u202e')).to.match(/ delete \$'\/a\/\\u202e'$/);
  });
});
