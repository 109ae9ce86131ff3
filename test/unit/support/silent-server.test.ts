import { expect } from 'chai';
import { startSilentServer } from '../../support/silent-server.ts';
import { RawClient } from './raw-client.ts';

describe('SilentServer', () => {
  it('accepts, records the connections, and never answers', async () => {
    await using server = await startSilentServer();
    using first = RawClient.dial(server.port);
    const second = server.connected(2);
    using _other = RawClient.dial(server.port);
    expect(await second).to.equal(server.connections[1]);
    expect(await server.connected()).to.equal(server.connections[0]);
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
