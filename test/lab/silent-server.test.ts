import { expect } from 'chai';
import { startSilentServer } from '../../lab/servers/silent-server.ts';
import { dial } from '../../lab/wire/wire-client.ts';

describe('SilentServer', () => {
  it('accepts, records the connections, and never answers', async () => {
    await using server = await startSilentServer();
    using first = dial(server.port);
    const firstSocket = await server.connected();
    const second = server.connected(2);
    using _second = dial(server.port);
    expect(server.connections).to.deep.equal([firstSocket, await second]);
    expect(await server.connected()).to.equal(firstSocket);
    await server.close();
    await first.closed;
    expect(first.bytesReceived).to.equal(0);
  });

  it('closes more than once', async () => {
    const server = await startSilentServer();
    await server.close();
    await server.close();
  });
});
