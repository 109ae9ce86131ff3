import { expect } from 'chai';
import { zooKeeperImage } from '../../lab/servers/choose-zookeeper.ts';
import { askEngine } from '../../lab/servers/docker/engine-api.ts';
import { serverMode } from '../../lab/servers/four-letter-word.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { until } from '../../lab/until.ts';

interface Port {
  readonly IP?: string;
  readonly PrivatePort: number;
  readonly PublicPort?: number;
}

describe('the single server in a container', () => {
  const image = zooKeeperImage(process.env);

  before(async function () {
    this.timeout(90_000);
    await sharedZooKeeper();
  });

  it('is the server that this run tests against', async () => {
    const { how } = await sharedZooKeeper();
    expect(how).to.equal(`a container of ${image}`);
  });

  it('is standalone, and reachable from this machine only', async () => {
    const { connectString } = await sharedZooKeeper();
    const [host = '', port = ''] = connectString.split(':');
    await until('it is standalone', async () => (await serverMode(host, Number(port))) === 'standalone');
    expect(await publishedOn(Number(port))).to.deep.equal(['127.0.0.1']);
  });

  async function publishedOn(port: number): Promise<(string | undefined)[]> {
    const answer = await askEngine('/containers/json', 15_000);
    const containers = JSON.parse(answer?.body ?? '[]') as { Ports: Port[] }[];
    return containers
      .flatMap(({ Ports }) => Ports)
      .filter(({ PublicPort }) => PublicPort === port)
      .map(({ IP }) => IP);
  }
});
