import { expect } from 'chai';
import { chooseDemoZooKeeper, furtherTrials, startDemoZooKeeper } from '../../demo/demo-zookeeper.ts';
import { LockClient } from '../../src/index.ts';

describe("the demo's ZooKeeper", () => {
  it('is the one that is given, else one in this process, or a real one where that is asked for', () => {
    expect(chooseDemoZooKeeper([], {})).to.equal('embedded');
    expect(chooseDemoZooKeeper([], { ZOOKEEPER_CONNECT: '' })).to.equal('embedded');
    expect(chooseDemoZooKeeper(['--real'], {})).to.equal('real');
    expect(chooseDemoZooKeeper(['--real'], { ZOOKEEPER_CONNECT: 'zk:2181' })).to.equal('given');
  });

  it('is not chosen for an argument that is unknown', () => {
    expect(() => chooseDemoZooKeeper(['--reel'], {})).to.throw(
      RangeError,
      'Unknown argument --reel: npm start takes none but --real',
    );
  });

  it('serves, where it is embedded, and is stopped', async () => {
    const zooKeeper = await startDemoZooKeeper('embedded');
    await using client = await LockClient.connect(zooKeeper.connectString);
    expect(client.state).to.equal('connected');
    await client.close();
    await zooKeeper.stop();
  });

  it('is followed by what else can be tried', () => {
    expect(furtherTrials('embedded')).to.include('npm start -- --real').and.to.include('docker-compose up');
    expect(furtherTrials('real')).not.to.include('--real');
  });
});
