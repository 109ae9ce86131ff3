import { expect } from 'chai';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { OnceATick } from '../../../src/internals/listing.ts';
import { exists, getChildren } from '../../../src/zookeeper/wire/operations.ts';

describe('the requests of one tick', () => {
  const lab = labOfEachTest('one-packet', { server: 'own', client: 'none' });

  it('leave in one write, and so does the list that the callers of the tick share', async () => {
    using probe = await ConnectionProbe.connect([lab.server.port]);
    const { link } = probe;
    const written: number[] = [];
    const write = link?.write.bind(link) as (bytes: Buffer) => boolean;
    Object.assign(link ?? {}, {
      write: (bytes: Buffer) => {
        written.push(bytes.length);
        return write(bytes);
      },
    });
    const lists = new OnceATick((path) => probe.send(getChildren(path)));
    const [, one, other] = await Promise.all([probe.send(exists('/')), lists.ask('/'), lists.ask('/')]);
    expect(one).to.equal(other);
    expect(written).to.have.length(1);
  });
});
