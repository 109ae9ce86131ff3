import { expect } from 'chai';
import { zooKeeperImage } from '../../harness/choose-zookeeper.ts';
import { askEngine } from '../../harness/docker/engine-api.ts';
import { serverMode } from '../../harness/four-letter-word.ts';
import { sharedZooKeeper } from '../../harness/hooks.ts';

interface Port {
  readonly IP?: string;
  readonly PrivatePort: number;
  readonly PublicPort?: number;
}

describe('the single server in a container', () => {
  const image = zooKeeperImage(process.env);

  it('is the server that this run tests against', async () => {
    const { how } = await sharedZooKeeper();
    expect(how).to.equal(`a container of ${image}`);
  });

  it('is standalone, and reachable from this machine only', async () => {
    const { connectString } = await sharedZooKeeper();
    const [host = '', port = ''] = connectString.split(':');
    expect(await serverMode(host, Number(port))).to.equal('standalone');
    expect(await publishedOn(Number(port))).to.deep.equal(['127.0.0.1']);
  });

  async function publishedOn(port: number): Promise<(string | undefined)[]> {
    const answer = await askEngine('/containers/json');
    const containers = JSON.parse(answer?.body ?? '[]') as { Ports: Port[] }[];
    return containers
      .flatMap(({ Ports }) => Ports)
      .filter(({ PublicPort }) => PublicPort === port)
      .map(({ IP }) => IP);
  }
});
