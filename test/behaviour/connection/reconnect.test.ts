import { expect } from 'chai';
import { createHash } from 'node:crypto';
import type { ConnectionState } from '../../../src/index.ts';
import { systemClock, type CancelTimer, type Clock } from '../../../src/support/clock.ts';
import {
  createPersistent,
  exists,
  getChildren,
  getData,
  openAcl,
  type AclEntry,
  type Operation,
} from '../../../src/zookeeper/wire/operations.ts';
import { from } from '../../../lab/proxy/frame-matches.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { rejection } from '../../../lab/until.ts';
import { startProxy, type Frame, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { ConnectionProbe, type ProbeOptions } from '../../../lab/wire/connection-probe.ts';
import { connectInOrder, nextState } from '../../../lab/lock-clients.ts';

const credentials = 'somebody:secret';
const digest = createHash('sha1').update(credentials).digest('base64');
const auth = [{ scheme: 'digest', credentials }];
const ownersOnly: AclEntry[] = [{ permissions: 31, scheme: 'digest', id: `somebody:${digest}` }];

const attemptMs = 10_000;

describe('a reconnect', () => {
  const lab = labOfEachTest('reconnect', { server: 'own', proxy: true, client: 'none' });

  it('authenticates before the first request, however early the request is sent', async () => {
    const path = testPath('').slice(0, -1);
    using probe = await ConnectionProbe.connect([lab.proxy.port], { auth, attemptMs });
    await probe.send(createPersistent(path, ownersOnly));
    using outside = await ConnectionProbe.connect([lab.server.port]);
    expect(await rejection(outside.send(getData(path, false)))).to.have.property('code', 'NO_AUTH');

    const tooEarly: Promise<Error & { code?: string }>[] = [];
    probe.on('disconnected', () => tooEarly.push(rejection(probe.send(getData(path, false)))));
    const first = new Promise((resolve, reject) => {
      probe.on('connected', () => void probe.send(getData(path, false)).then(resolve, reject));
    });
    lab.proxy.cut();
    await first;
    expect((await Promise.all(tooEarly)).map(({ code }) => code)).to.deep.equal(['CONNECTION_LOSS']);
    expect(requestsOf(lab.proxy, 2)).to.deep.equal(['connect', 'auth', 'getData']);
  });

  it('is not attempted after a server refused the credentials', async () => {
    using probe = new ConnectionProbe([lab.proxy.port], { auth: [{ scheme: 'nonsense', credentials }] });
    probe.connection.connect();
    await probe.next('authFailed');
    expect(probe.connection.isConnected).to.equal(false);
    using later = await ConnectionProbe.connect([lab.proxy.port]);
    await later.send(exists('/'));
    expect(lab.proxy.frames.filter(from('client', 'connect'))).to.have.length(2);
  });

  it('to a server that accepts and drops keeps no request for the next connection', async () => {
    const drops = 4;
    using probe = await ConnectionProbe.connect([lab.proxy.port], { auth, attemptMs });
    probe.watched.add('/');
    const accept = lab.proxy.on((frame) => (from('client', 'connect')(frame) ? 'cut' : undefined));
    lab.proxy.cut();
    await lab.proxy.seen(from('client', 'connect'), 1 + drops);
    accept();
    await probe.next('connected');
    await probe.send(exists('/'));
    expect(requestsOf(lab.proxy, 2 + drops)).to.deep.equal(['connect', 'auth', 'setWatches', 'exists']);
  });

  const isRead = (frame: Frame): boolean => from('client', 'exists')(frame) || from('client', 'getChildren2')(frame);

  it('pauses longer and longer for a server that drops accepted sessions, and not at all once it has answered', async () => {
    const { options, pauses } = recordPauses();
    const accept = lab.proxy.on((frame) => (isRead(frame) ? 'cut' : undefined));
    using probe = new ConnectionProbe([lab.proxy.port], options);
    // In turn, because the client would stop sending an operation that ends one connection after another.
    const reads = [exists('/'), getChildren('/'), exists('/'), getChildren('/'), exists('/')];
    probe.on('connected', () => {
      const read = reads.shift();
      if (read) probe.send<unknown>(read).catch(() => undefined);
    });
    probe.connection.connect();
    await lab.proxy.seen(isRead, 4);
    accept();
    await lab.proxy.seen(from('server', 'exists'));
    expect(pauses()).to.deep.equal([0, 25, 50, 100, 200]);

    await probe.send(exists('/'));
    const again = probe.next('connected');
    lab.proxy.cut();
    await again;
    expect(pauses()).to.deep.equal([0]);
  });

  for (const [what, action, request] of [
    ['every answer', { replaceError: -112 }, exists('/')],
    ['every transaction', 'pass', { ...exists('/'), sessionError: () => -118 }],
  ] as const)
    it(`pauses longer and longer for a server that ends the session by ${what}`, async () => {
      const { options, pauses } = recordPauses();
      lab.proxy.on((frame) => (from('server', 'exists')(frame) ? action : undefined));
      using probe = new ConnectionProbe([lab.proxy.port], options);
      probe.on('connected', () => void probe.send(request).catch(() => undefined));
      probe.on('answered', () => probe.connection.drop(new Error('the answer is an error of the session')));
      probe.connection.connect();
      // This takes more than the five seconds after which a served session lets the pauses begin anew.
      await lab.proxy.seen(from('server', 'exists'), 20);
      expect(pauses().slice(0, 20)).to.deep.equal([0, 25, 50, 100, 200, 400, ...Array.from({ length: 14 }, () => 500)]);
    });

  it('pauses before a round over all servers, and not between two servers', async () => {
    const { options, pauses } = recordPauses();
    await using away = await startProxy(lab.server.port);
    await away.refuse();
    using probe = await ConnectionProbe.connect([away.port, away.port, lab.proxy.port], options);
    await probe.send(exists('/'));
    expect(pauses()).to.deep.equal([0, 0, 0]);
    await lab.proxy.refuse();
    lab.proxy.cut();
    for (let ended = 0; ended < 1 + 3 + 3; ended += 1) await probe.next('disconnected');
    expect(pauses()).to.deep.equal([0, 0, 0, 25, 0, 0, 50]);
  });

  it('is not attempted if the client gives up when its connection is lost', async () => {
    using probe = await ConnectionProbe.connect([lab.proxy.port]);
    probe.on('disconnected', () => probe.connection.abandon());
    const disconnected = probe.next('disconnected');
    lab.proxy.cut();
    await disconnected;
    expect(probe.connection.isConnected).to.equal(false);
    using later = await ConnectionProbe.connect([lab.proxy.port]);
    await later.send(exists('/'));
    expect(lab.proxy.frames.filter(from('client', 'connect'))).to.have.length(2);
  });

  it('is not attempted if the client gives up during a pause, and no timer is left', async () => {
    const { options, running } = recordPauses();
    await lab.proxy.refuse();
    using probe = new ConnectionProbe([lab.proxy.port], options);
    probe.connection.connect();
    await probe.next('disconnected');
    expect(running()).to.equal(1);
    probe.connection.abandon();
    expect(running()).to.equal(0);
  });

  it('keeps the error of the last attempt, not of an earlier one', async () => {
    using probe = await ConnectionProbe.connect([lab.proxy.port]);
    await lab.proxy.refuse();
    lab.proxy.cut();
    await probe.next('disconnected');
    await probe.next('disconnected');
    expect(probe.connection.lastError).to.have.property('code', 'ECONNREFUSED');
    const accept = lab.proxy.on((frame) => (from('client', 'connect')(frame) ? 'cut' : undefined));
    await lab.proxy.accept();
    await lab.proxy.seen(from('client', 'connect'), 2);
    await probe.next('disconnected');
    expect(probe.connection.lastError).to.have.property('message', `127.0.0.1:${lab.proxy.port} closed the connection`);
    accept();
    await probe.next('connected');
    expect(probe.connection.lastError).to.equal(undefined);
  });

  it('sets 15,000 watches again in frames of much less than 1 MB, and each watch fires', async () => {
    const parent = testPath('').slice(0, -1);
    const paths = Array.from({ length: 15_000 }, (_, index) => `${parent}/${`${index}-`.padEnd(70, 'x')}`);
    const isThere = (path: string): boolean => /(00|50)-x+$/.test(path);
    const [there, deleted] = [paths.filter(isThere), paths.filter((path) => !isThere(path))];
    // A probe sends no heartbeats, and so many watches take a while.
    const options = { sessionTimeoutMs: 30_000 };
    using outside = await ConnectionProbe.connect([lab.server.port], options);
    await outside.send(createPersistent(parent, openAcl));
    await outside.send(all(there, 'create'));

    using probe = await ConnectionProbe.connect([lab.proxy.port], options);
    // The server reports at once what happened since the zxid of this reply.
    await probe.send(exists('/'));
    for (const path of paths) probe.watched.add(path);
    const again = probe.next('connected');
    lab.proxy.cut();
    await again;
    // The reply to this request follows all watch events.
    await probe.send(exists('/'));
    expect(probe.fired.map(({ path }) => path))
      .to.have.length(deleted.length)
      .and.to.satisfy((fired: string[]) => !fired.some(isThere));

    const sizes = lab.proxy.frames.filter(from('client', 'setWatches')).map(({ body }) => body.length);
    expect(Math.max(...sizes)).to.be.below(200_000);
    expect(sizes.reduce((sum, size) => sum + size)).to.be.above(1_100_000);

    await outside.send(all(there, 'delete'));
    while (probe.fired.length < paths.length) await probe.next('watch');
    expect(new Set(probe.fired.map(({ path, event }) => `${event} ${path}`))).to.deep.equal(
      new Set(paths.map((path) => `deleted ${path}`)),
    );
  });

  it('is attempted once more if a server refuses to set the watches', async () => {
    using probe = await ConnectionProbe.connect([lab.proxy.port], { attemptMs });
    probe.watched.add('/');
    const accept = lab.proxy.on((frame) => (from('server', 'setWatches')(frame) ? { replaceError: -1 } : undefined));
    lab.proxy.cut();
    await lab.proxy.seen(from('server', 'setWatches'));
    accept();
    await lab.proxy.seen(from('server', 'setWatches'), 2);
    await probe.send(exists('/'));
    expect(requestsOf(lab.proxy, 3)).to.deep.equal(['connect', 'setWatches', 'exists']);
  });

  it('in the same session follows when servers that all refused accept again', async () => {
    await using client = await connectInOrder([lab.proxy, lab.proxy], { sessionTimeoutMs: 8_000 });
    const { id } = client.session;
    await lab.disconnect(client);
    await lab.proxy.accept();
    expect(await nextState(client)).to.equal('reconnected');
    expect(client.session.id).to.equal(id);
    await client.session.request(exists('/'));
  });

  it('succeeds and reaches every listener although one listener throws', async () => {
    await using client = await connectInOrder([lab.proxy], { sessionTimeoutMs: 8_000 });
    const emitWarning = process.emitWarning.bind(process);
    const warnings: unknown[] = [];
    process.emitWarning = (warning: unknown) => void warnings.push(warning);
    try {
      const broken = new Error('a broken listener');
      const states: ConnectionState[] = [];
      client.on('state', () => {
        throw broken;
      });
      client.on('state', (state) => states.push(state));
      lab.proxy.cut();
      await nextState(client);
      await nextState(client);
      await client.session.request(exists('/'));
      await client.close();
      expect(states).to.deep.equal(['suspended', 'reconnected', 'closed']);
      expect(warnings.map((warning) => (warning as Error).cause)).to.deep.equal([broken, broken, broken]);
      for (const { message } of warnings as Error[])
        expect(message).to.contain("a listener of 'state' failed: a broken");
    } finally {
      process.emitWarning = emitWarning;
    }
  });
});

/** Options of a probe that record its pauses: `pauses` since the last call, and the number of running timers. */
function recordPauses(): { options: ProbeOptions; pauses: () => number[]; running: () => number } {
  const delays: number[] = [];
  const timers = new Set<CancelTimer>();
  const after: Clock['after'] = (delayMs, run) => {
    delays.push(delayMs);
    const cancel = systemClock.after(delayMs, () => {
      timers.delete(stop);
      run();
    });
    const stop = (): void => {
      timers.delete(stop);
      cancel();
    };
    timers.add(stop);
    return stop;
  };
  return {
    options: { attemptMs, clock: { ...systemClock, after } },
    pauses: () => delays.splice(0).filter((delayMs) => delayMs !== attemptMs),
    running: () => timers.size,
  };
}

function requestsOf(proxy: ZkProxy, connection: number): Frame['op'][] {
  return proxy.frames.filter((frame) => frame.from === 'client' && frame.connection === connection).map(({ op }) => op);
}

/** One transaction that creates or deletes all paths. */
function all(paths: readonly string[], action: 'create' | 'delete'): Operation<void> {
  return {
    name: 'multi',
    opcode: 14,
    kind: 'write',
    path: paths[0] ?? '/',
    write(to) {
      for (const path of paths) {
        if (action === 'delete') to.int(2).flag(false).int(-1).text(path).int(-1);
        else to.int(1).flag(false).int(-1).text(path).int(0).int(1).int(31).text('world').text('anyone').int(0);
      }
      to.int(-1).flag(true).int(-1);
    },
    read: () => undefined,
  };
}
