// Locks over TLS with a client certificate that is renewed while the client runs. Without ZOOKEEPER_TLS, the folder of
// the certificates, the program shows only what a wrong option says.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LockClient, TlsError, type TlsOptions } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? 'localhost:2281';
const folder = process.env['ZOOKEEPER_TLS'];

// The name of a file in place of its content is the most frequent mistake.
await assert.rejects(LockClient.connect(servers, { tls: { ca: '/etc/zookeeper/tls/authority.pem' } }), {
  name: 'TypeError',
  message: /^Expected `tls\.ca` to be the content of a PEM file/,
});
console.log('the name of a file is refused');

if (folder !== undefined) {
  // The function is asked at each connection. A certificate that was renewed on disk is used from then on.
  const tls: TlsOptions = () => ({
    ca: readFileSync(join(folder, 'authority.pem')),
    cert: readFileSync(join(folder, 'client.pem')),
    key: readFileSync(join(folder, 'client.key')),
  });
  await using client = await LockClient.connect(servers, { tls, acl: 'creator-only' });
  await client.withLock('/locks/tls', (hold) => console.log('held over TLS, token', hold.fencingToken));

  // Without the authority, the client does not believe the server.
  const error = await LockClient.connect(servers, { tls: true }).catch((reason: unknown) => reason);
  assert(error instanceof TlsError);
  assert.equal(error.problem, 'unknown-authority');
  console.log(error.message);
}
