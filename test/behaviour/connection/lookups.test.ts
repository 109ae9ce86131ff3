import { expect } from 'chai';
import dns from 'node:dns';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { nextState } from '../../../lab/lock-clients.ts';
import { Resolver } from '../../../lab/resolver.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';

describe('a name server that does not answer', () => {
  const lab = labOfEachTest('lookups', { server: 'own', proxy: true, client: 'none' });
  let resolver: Resolver;

  /** A connect string of these names, all with the port of the proxy. */
  const at = (...names: string[]): string => names.map((name) => `${name}.test:${lab.proxy.port}`).join(',');

  /** The time that the application's own lookups take at most, one every 100 ms, until `stop` is called. */
  const applicationLooksUp = (): { stop(): number } => {
    let slowestMs = 0;
    const outstanding = new Map<object, number>();
    const timer = setInterval(() => {
      const startedAt = lab.now();
      const key = {};
      outstanding.set(key, startedAt);
      dns.lookup('application.test', { all: true }, () => {
        outstanding.delete(key);
        slowestMs = Math.max(slowestMs, lab.now() - startedAt);
      });
    }, 100);
    return {
      stop() {
        clearInterval(timer);
        return Math.max(slowestMs, ...[...outstanding.values()].map((startedAt) => lab.now() - startedAt));
      },
    };
  };

  beforeEach(() => {
    resolver = new Resolver()
      .set('good.test', ['127.0.0.1'])
      .set('hangs.test', 'hangs')
      .set('hangs-too.test', 'hangs')
      .set('application.test', ['127.0.0.1']);
  });
  afterEach(async () => {
    // The lookups are those of the process: the next test begins without one.
    await lab.sleep(resolver.hanging.length * 20_000);
    resolver[Symbol.dispose]();
  });

  it('for two of three names delays the connection by less than a second, and no lookup of the application', async () => {
    const application = applicationLooksUp();
    const startedAt = lab.now();
    // Several clients, because the hosts of each are tried in another order.
    const clients = await Promise.all(
      Array.from({ length: 20 }, () => LockClient.connect(at('hangs', 'hangs-too', 'good'))),
    );
    expect(lab.now() - startedAt).to.be.below(1_000);
    // They reconnect while the lookups hang.
    for (let cut = 0; cut < 5; cut += 1) {
      const reconnected = Promise.all(
        clients.map(async (client) => [await nextState(client), await nextState(client)]),
      );
      lab.proxy.cut();
      expect(await reconnected).to.deep.equal(Array(clients.length).fill(['suspended', 'reconnected']));
    }
    expect(resolver.hanging).to.have.length(1);
    await Promise.all(clients.map((client) => client.close()));
    expect(application.stop()).to.be.below(50);
    expect(resolver.mostHanging).to.equal(1);
  });

  it('is asked nothing more when the client has been closed', async () => {
    const client = await LockClient.connect(at('hangs', 'hangs-too', 'good'));
    await client.close();
    await rejection(LockClient.connect(at('hangs', 'hangs-too'), { connectionTimeoutMs: 1_000 }));
    const { begun } = resolver;
    await lab.sleep(30_000);
    expect(resolver.begun).to.equal(begun);
    expect(resolver.hanging).to.deep.equal([]);
  });

  it('delays no reconnection to a server whose addresses are known', async () => {
    await using client = await LockClient.connect(at('good'), { sessionTimeoutMs: 4_000 });
    await using hold = await new InterProcessMutex(client, testPath('known')).acquire();
    resolver.set('good.test', 'hangs');
    for (let cut = 0; cut < 3; cut += 1) {
      lab.proxy.cut();
      expect([await nextState(client), await nextState(client)]).to.deep.equal(['suspended', 'reconnected']);
    }
    expect(hold.isValid).to.equal(true);
    expect(resolver.hanging).to.deep.equal(['good.test']);
  });

  it('is waited for if no other host can be dialled, and its answer is used at once', async () => {
    resolver.set('late.test', 'hangs');
    const connecting = LockClient.connect(at('late'), { connectionTimeoutMs: 60_000 });
    await lab.sleep(10_000);
    resolver.set('late.test', ['127.0.0.1']);
    // The lookup under way fails, and the next one succeeds.
    const startedAt = lab.now();
    await using client = await connecting;
    expect(lab.now() - startedAt).to.be.within(9_900, 10_200);
    expect(client.state).to.equal('connected');
  });

  it('is named by the error', async () => {
    const error = await rejection(LockClient.connect(at('hangs'), { connectionTimeoutMs: 1_000 }));
    expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
    expect(error.message).to.contain('The lookup of hangs.test has not been answered yet');
  });
});
