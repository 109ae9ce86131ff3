import { expect } from 'chai';
import { onFreshPorts } from '../../lab/servers/free-port.ts';
import { clientTls } from '../../lab/servers/tls-keys.ts';
import { startFront, type Front } from '../../lab/servers/virtual/front.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';
import { AuthFailedError, InterProcessMutex, LockClient, TlsError, type LockClientOptions } from '../../src/index.ts';
import { EmbeddedZooKeeper } from '../../packages/testing/src/index.ts';

const users = { alice: 'open sesame', bob: 'pass€wört "quoted"' };
const as = (username: string, password: string, more: LockClientOptions = {}): LockClientOptions => ({
  sasl: { mechanism: 'DIGEST-MD5', username, password },
  ...more,
});

describe('the front of an embedded server', () => {
  let zk: EmbeddedZooKeeper;
  let front: Front;
  let connectString: string;

  before(async () => {
    zk = await EmbeddedZooKeeper.start();
    front = await onFreshPorts(1, ([port = 0]) => {
      connectString = `127.0.0.1:${port}`;
      return startFront(port, zk.port, { tls: 'same-port', sasl: users });
    });
  });
  after(() => {
    front.stop();
    return zk.stop();
  });

  for (const [who, options] of [
    ['without TLS and SASL', () => ({ tls: undefined })],
    ['with TLS', () => ({ tls: clientTls() })],
    ['with an account', () => as('alice', users.alice)],
    ['with an account of other letters, over TLS', () => as('bob', users.bob, { tls: clientTls() })],
  ] as const satisfies readonly (readonly [string, () => LockClientOptions])[])
    it(`serves a client ${who}`, async () => {
      await using client = await LockClient.connect(connectString, options());
      await new InterProcessMutex(client, testPath('front')).withLock((hold) => expect(hold.isValid).to.equal(true));
    });

  it('refuses a wrong password, an unknown user, and the password of another user', async () => {
    for (const options of [as('alice', 'x'), as('zoe', users.alice), as('alice', users.bob)]) {
      const error = await rejection(LockClient.connect(connectString, options));
      expect(error).to.be.instanceOf(AuthFailedError);
      expect(error.message).to.contain('the server refused the user name or the password');
    }
  });

  it('shows a certificate that a client does not trust without its authority', async () => {
    const error = await rejection(LockClient.connect(connectString, { tls: true }));
    expect(error).to.be.instanceOf(TlsError).with.property('problem', 'unknown-authority');
  });
});
