import { once } from 'node:events';
import { expect } from 'chai';
import { phases } from '../../lab/virtual/agenda.ts';
import { VirtualNetwork } from '../../lab/virtual/virtual-network.ts';
import { VirtualServer } from '../../lab/virtual/virtual-server.ts';
import { VirtualSocket } from '../../lab/virtual/virtual-socket.ts';
import { VirtualTime } from '../../lab/virtual/virtual-time.ts';

const piece = Buffer.alloc(2 ** 20);
const pieces = 5;

describe('a virtual socket', () => {
  it('holds back its writer while the peer does not read, and lets it go on afterwards', async () => {
    const { network, client, peer } = await connected();
    peer.pause();
    for (let count = 0; count < pieces; count += 1) client.write(piece);
    await pass(network.time, 1_000);
    expect(client.writableLength).to.be.above(piece.length);

    let received = 0;
    peer.on('data', (chunk: Buffer) => (received += chunk.length));
    peer.resume();
    await once(client, 'drain');
    client.end();
    await once(peer, 'end');
    expect(received).to.equal(pieces * piece.length);
  });

  it('gives a process all that arrived while it stalled in one chunk', async () => {
    const { network, client, peer } = await connected();
    const { time } = network;
    const chunks: string[] = [];
    client.on('data', (chunk: Buffer) => chunks.push(String(chunk)));
    client.on('end', () => chunks.push('end'));
    for (const text of ['one ', 'two ', 'three']) peer.write(text);
    time.here.stall(1_000);
    await pass(time, 10);
    expect(chunks).to.deep.equal(['one two three']);
    peer.write('four');
    await pass(time, 10);
    peer.end('five');
    time.here.stall(1_000);
    await pass(time, 10);
    expect(chunks).to.deep.equal(['one two three', 'four', 'five', 'end']);
  });

  it('gives a busy process all that arrived since its last turn in one chunk', async () => {
    const { network, client, peer } = await connected();
    const { time } = network;
    const chunks: string[] = [];
    client.on('data', (chunk: Buffer) => chunks.push(`${String(chunk)} at ${time.now()}`));
    time.here.turnMs = 50;
    for (const [atMs, text] of [
      [10, 'one '],
      [40, 'two'],
      [60, 'three'],
    ] as const)
      time.add(atMs, phases.timer, () => peer.write(text));
    await pass(time, 200);
    expect(chunks).to.deep.equal(['one two at 50', 'three at 100']);
  });
});

/** Both ends of a connection. */
async function connected(): Promise<{ network: VirtualNetwork; client: VirtualSocket; peer: VirtualSocket }> {
  const network = new VirtualNetwork(new VirtualTime());
  const server = new VirtualServer(network).listen(2_181, '127.0.0.1');
  const client = VirtualSocket.connect(network, { host: '127.0.0.1', port: 2_181 });
  const [peer] = (await once(server, 'connection')) as [VirtualSocket];
  return { network, client, peer };
}

function pass(time: VirtualTime, ms: number): Promise<void> {
  return new Promise((resolve) => time.add(ms, phases.timer, resolve));
}
