import { expect } from 'chai';
import { Duplex } from 'node:stream';
import { ServerLink } from '../../src/zookeeper/server-link.ts';

describe('a link', () => {
  // A TLS socket does so at an alert of TLS 1.3, which a server sends after the handshake.
  it('ends with an error that does not destroy its socket', async () => {
    const socket = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
    const ends: unknown[] = [];
    const user = {
      failure: '',
      receive: () => undefined,
      chunkEnded: () => undefined,
      drained: () => undefined,
      ended: (error: Error | undefined) => ends.push(error),
    };
    new ServerLink(socket, { host: 'zk1', port: 2181 }, user, () => undefined);
    const alert = new Error('alert certificate unknown');
    socket.emit('error', alert);
    await new Promise<void>((resolve) => socket.once('close', resolve));
    expect(ends).to.deep.equal([alert]);
  });
});
