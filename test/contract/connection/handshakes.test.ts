import { readFileSync } from 'node:fs';
import { createServer, type TLSSocket } from 'node:tls';
import { expect } from 'chai';
import { ConnectionProbe } from '../../../lab/wire/connection-probe.ts';
import { connectResponse } from '../../../lab/servers/fake-server.ts';
import { listen, onFreshPorts } from '../../../lab/servers/free-port.ts';
import { clientTls, keyFile } from '../../../lab/servers/tls-keys.ts';

describe('an attempt to connect', () => {
  it('sends one ConnectRequest, also if the server repeats the TLS handshake', async () => {
    const received: Buffer[] = [];
    const answer = (socket: TLSSocket): void => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => void received.push(chunk));
      socket.once('data', () => {
        socket.renegotiate({}, () => socket.write(connectResponse()));
      });
    };
    const keys = { key: readFileSync(keyFile('server', 'key')), cert: readFileSync(keyFile('server', 'pem')) };
    // TLS 1.3 has no renegotiation.
    const server = createServer({ ...keys, maxVersion: 'TLSv1.2' }, answer);
    const port = await onFreshPorts(1, ([candidate = 0]) => listen(server, candidate));
    try {
      using probe = await ConnectionProbe.connect([port], { tls: () => clientTls() });
      expect(Buffer.concat(received)).to.have.length(received[0]?.length ?? 0);
      expect(probe.unansweredAttempts).to.deep.equal([]);
    } finally {
      server.close();
    }
  });
});
