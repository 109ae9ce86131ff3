import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection, until } from '../../../lab/until.ts';
import { answered, once, sent } from '../../../lab/proxy/frame-matches.ts';
import { reached } from '../../../lab/reached.ts';

describe('TestFailedDeleteManager', () => {
  const lab = labOfEachTest('failed-delete', { server: 'own', proxy: true, client: 'none' });

  it('testLostSession, testWithNamespaceAndLostSession: failed deletes are done after a restart', async () => {
    const clients = await Promise.all(
      ['', '/aisa'].map((chroot) =>
        LockClient.connect(`${lab.server.connectString}${chroot}`, { sessionTimeoutMs: 2_000 }),
      ),
    );
    try {
      const holds = await Promise.all(
        clients.map((client) => new InterProcessMutex(client, testPath('lost-session')).acquire()),
      );
      const suspended = clients.map((client) => reached(client, 'suspended'));
      const lost = clients.map((client) => reached(client, 'lost'));
      await lab.server.kill();
      await Promise.all(suspended);
      const releasing = holds.map((hold) => hold.release());
      await Promise.all(lost);
      expect(await Promise.all(releasing)).to.deep.equal(['released', 'released']);

      const again = clients.map((client) => reached(client, 'reconnected'));
      await lab.server.start();
      await Promise.all(again);
      await using back = await connectObserver(lab.server.connectString);
      const [first, second] = holds.map((hold) => hold.path);
      await until(
        'both znodes are deleted',
        async () => !(await back.exists(first ?? '/')) && !(await back.exists(`/aisa${second ?? ''}`)),
      );
    } finally {
      await Promise.all(clients.map((client) => client.close({ timeoutMs: 500 })));
    }
  });

  it('testBasic: a delete that failed is repeated when the server is back', async () => {
    await using client = await LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs: 10_000 });
    const path = `${testPath('one')}/two/three`;
    const hold = await new InterProcessMutex(client, path).acquire();
    await lab.proxy.refuse();
    once(lab.proxy, sent('delete'), 'cut');
    const suspended = reached(client, 'suspended');
    const releasing = hold.release();
    await suspended;
    expect(await lab.observer.exists(hold.path)).to.equal(true);
    await lab.proxy.accept();
    expect(await releasing).to.equal('released');
    expect(await lab.observer.exists(hold.path)).to.equal(false);
  });

  it('testGuaranteedDeleteOnNonExistentNodeInForeground: a release deletes once', async () => {
    const warnings: string[] = [];
    const logger = { warn: (_details: unknown, message: string) => void warnings.push(message) };
    await using client = await LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs: 10_000, logger });
    const hold = await new InterProcessMutex(client, testPath('foreground')).acquire();
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === hold.path);
    lab.proxy.on((frame) => (answered('watch')(frame) ? 'drop' : undefined));
    await lab.observer.remove(hold.path);
    await hold.release();
    const deletes = lab.proxy.frames.filter(answered('delete'));
    expect(deletes.map((frame) => frame.err)).to.deep.equal([-101]);
    await client.close();
    expect(lab.proxy.frames.filter(sent('delete'))).to.have.length(1);
    expect(warnings, 'no warning about a repeated delete').to.deep.equal([]);
  });

  it('testGuaranteedDeleteOnNonExistentNodeInBackground: a given-up wait deletes once', async () => {
    const warnings: string[] = [];
    const logger = { warn: (_details: unknown, message: string) => void warnings.push(message) };
    await using other = await LockClient.connect(lab.server.connectString);
    await using client = await LockClient.connect(lab.proxy.connectString, { sessionTimeoutMs: 10_000, logger });
    const path = testPath('background');
    const gate = await new InterProcessMutex(other, path).acquire();
    const mutex = new InterProcessMutex(client, path);
    const controller = new AbortController();
    const waiting = rejection(mutex.acquire({ signal: controller.signal }));
    await lab.proxy.seen((frame) => answered('getData')(frame) && frame.path === gate.path);
    lab.proxy.on((frame) => (answered('watch')(frame) ? 'drop' : undefined));
    const [, waiter] = await mutex.participants();
    await lab.observer.remove(waiter?.path ?? '/');
    controller.abort(new Error('enough'));
    await waiting;
    const deleted = await lab.proxy.seen(answered('delete'));
    expect(deleted.err).to.equal(-101);
    await client.close();
    expect(lab.proxy.frames.filter(sent('delete'))).to.have.length(1);
    expect(warnings, 'no warning about a repeated delete').to.deep.equal([]);
    await gate.release();
  });
});
