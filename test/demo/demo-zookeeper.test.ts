import { expect } from 'chai';
import { chooseDemoZooKeeper, furtherTrials, startDemoZooKeeper } from '../../demo/demo-zookeeper.ts';
import { LockClient } from '../../src/index.ts';

describe("the demo's ZooKeeper", () => {
  it('is the given one, otherwise one in this process, or a real one if an argument asks for it', () => {
    expect(chooseDemoZooKeeper([], {})).to.equal('embedded');
    expect(chooseDemoZooKeeper([], { ZOOKEEPER_CONNECT: '' })).to.equal('embedded');
    expect(chooseDemoZooKeeper(['--real'], {})).to.equal('real');
    expect(chooseDemoZooKeeper(['--real'], { ZOOKEEPER_CONNECT: 'zk:2181' })).to.equal('given');
  });

  it('is refused for an unknown argument', () => {
    expect(() => chooseDemoZooKeeper(['--reel'], {})).to.throw(
      RangeError,
      'Unknown argument --reel: npm start accepts only --real',
    );
  });

  it('serves if it is embedded, and is stopped', async () => {
    const zooKeeper = await startDemoZooKeeper('embedded');
    // The embedded server has no TLS, also in a run over TLS.
    await using client = await LockClient.connect(zooKeeper.connectString, { tls: undefined });
    expect(client.state).to.equal('connected');
    await client.close();
    await zooKeeper.stop();
  });

  it('is followed by the other servers that can be tried', () => {
    expect(furtherTrials('embedded'))
      .to.include('npm start -- --real')
      .and.to.include('docker-compose up')
      .and.to.include('zklock console');
    expect(furtherTrials('real')).not.to.include('--real');
  });
});
