import { expect } from 'chai';
import { labOfEachTest } from '../../lab/lab.ts';
import { Zklock } from './support/zklock.ts';

describe('zklock console, as built', function () {
  this.timeout(30_000);
  const lab = labOfEachTest('zklock-console', { client: 'none' });

  it('serves its page and the locks, and ends at a signal', async () => {
    await using zklock = new Zklock(['console', '--servers', lab.connectString, '--port', '0', '/']);
    await zklock.prints('shows the locks below /');
    const [url = ''] = zklock.stdout.split(' ');
    const answers = await Promise.all(['', 'console.css', 'console.js', 'api/locks'].map((name) => fetch(url + name)));
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200, 200]);
    expect(await answers[3]?.json()).to.include({ root: '/' });
    zklock.signal('SIGTERM');
    expect(await zklock.ends()).to.equal(143);
  });
});
