import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { expect } from 'chai';
import { keyFile } from '../../lab/servers/tls-keys.ts';
import { rejection } from '../../lab/until.ts';
import { fourLetterWord } from '../../packages/zklock/src/cli/check/four-letter-word.ts';
import { secondConnection } from '../../packages/zklock/src/cli/check/second-connection.ts';
import { systemNetwork } from '../../src/zookeeper/network/network.ts';
import { TlsError } from '../../src/zookeeper/network/tls-error.ts';

const code = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';

describe('an alert of TLS 1.3, which comes behind the handshake of the client', () => {
  let ca: Buffer;
  let server: Server;
  let host: { host: string; port: number };

  before(async () => {
    // Not before: an earlier test of this process may have had keys of its own.
    ca = readFileSync(keyFile('authority', 'pem'));
    const own = { cert: readFileSync(keyFile('server', 'pem')), key: readFileSync(keyFile('server', 'key')) };
    server = createServer({ ...own, ca, requestCert: true, rejectUnauthorized: true, minVersion: 'TLSv1.3' });
    server.on('tlsClientError', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    host = { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
  });
  after(() => server.close());

  for (const [what, way] of [
    ['one address', undefined],
    ['several addresses', { addresses: ['127.0.0.1', '127.0.0.2'], headStartMs: 1_000 }],
  ] as const)
    it(`is the error that the link ended with, of a host with ${what}`, async () => {
      const link = systemNetwork.connect(host, () => ({ ca }), way);
      let isReady = false;
      link.on('secureConnect', () => (isReady = true));
      link.on('error', () => undefined);
      await new Promise<void>((resolve) => link.on('close', resolve));
      expect(isReady).to.equal(true);
      expect(link.errored).to.include({ code });
    });

  const how = { tls: () => ({ ca }), timeoutMs: 10_000 };

  it('tells of it at a four-letter word', async () => {
    const error = await rejection(fourLetterWord(host, 'srvr', how));
    expect(error).to.be.instanceOf(TlsError).and.include({ problem: 'client-certificate' });
  });

  it('tells of it at a second connection', async () => {
    const [finding] = await secondConnection(host, { ...how, sessionTimeoutMs: 4_000 });
    expect(finding?.level).to.equal('warn');
    expect(finding?.text).to.include(code).and.to.include('--tls-cert');
  });
});
