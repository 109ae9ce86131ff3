import { expect } from 'chai';
import { labOfEachTest } from '../../../lab/lab.ts';
import { InProcess } from './in-process.ts';

describe('zklock run', () => {
  const lab = labOfEachTest('run', { server: 'own' });

  it('waits for a server no longer than 5 s with -n, and tells that from a lock that is taken', async () => {
    const run = new InProcess('127.0.0.1:1', ['run', '-n', '/a', '--', 'true']);
    expect([await run.ended, run.out]).to.deep.equal([69, '']);
    expect(run.errors).to.include('No ZooKeeper server of 127.0.0.1:1 answered within 5000 ms');
    await using _hold = await lab.theirs.acquire();
    const taken = new InProcess(lab.connectString, ['run', '-n', lab.path, '--', 'true']);
    expect([await taken.ended, taken.out, taken.errors]).to.deep.equal([75, '', '']);
  });

  it('says once that no server answers, also with -v', async () => {
    const run = new InProcess('127.0.0.1:1', ['run', '-v', '--connect-timeout', '4', '/a', '--', 'true']);
    expect(await run.ended).to.equal(69);
    expect(run.errors.match(/has answered for 3.0 s/g)).to.have.length(1);
  });
});
