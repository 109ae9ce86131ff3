import { once } from 'node:events';
import { expect } from 'chai';
import { VirtualNetwork } from '../../lab/virtual/virtual-network.ts';
import { VirtualServer } from '../../lab/virtual/virtual-server.ts';
import { VirtualSocket } from '../../lab/virtual/virtual-socket.ts';
import { VirtualTime } from '../../lab/virtual/virtual-time.ts';

const piece = Buffer.alloc(2 ** 20);
const pieces = 5;

describe('a virtual socket', () => {
  it('holds back its writer while the peer does not read, and lets it go on afterwards', async () => {
    const network = new VirtualNetwork(new VirtualTime());
    const server = new VirtualServer(network).listen(2_181, '127.0.0.1');
    const client = VirtualSocket.connect(network, { host: '127.0.0.1', port: 2_181 });
    const [peer] = (await once(server, 'connection')) as [VirtualSocket];
    peer.pause();
    for (let count = 0; count < pieces; count += 1) client.write(piece);
    await new Promise((resolve) => network.time.add(1_000, 0, () => resolve(undefined)));
    expect(client.writableLength).to.be.above(piece.length);

    let received = 0;
    peer.on('data', (chunk: Buffer) => (received += chunk.length));
    peer.resume();
    await once(client, 'drain');
    client.end();
    await once(peer, 'end');
    expect(received).to.equal(pieces * piece.length);
  });
});
