import { expect } from 'chai';
import { AuthFailedError, InterProcessMutex, type Credential } from '../../../src/index.ts';
import { Reader } from '../../../src/zookeeper/wire/wire.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { connectObserver } from '../../../lab/wire/observer.ts';
import { testPath } from '../../../lab/test-path.ts';
import { aborted, rejection } from '../../../lab/until.ts';
import { type Frame } from '../../../lab/proxy/zk-proxy.ts';
import { account, creatorOnly, digest } from '../../../lab/wire/account.ts';

const alice = digest('alice:open sesame');
const work = digest('work:under the rose');

describe('digest authentication', () => {
  const lab = labOfEachTest('authentication', { server: 'own', proxy: true, client: 'none' });

  /** The frames that the client sent on each connection, in order. */
  const connections = (): Frame[][] => {
    const all = new Map<number, Frame[]>();
    for (const frame of lab.proxy.frames)
      if (frame.from === 'client') all.set(frame.connection, [...(all.get(frame.connection) ?? []), frame]);
    return [...all.values()];
  };

  const ops = (frames: readonly Frame[] | undefined): string[] => (frames ?? []).map((frame) => frame.op);

  it('is sent once after each ConnectRequest: first connection, reconnects, new sessions', async () => {
    await using outside = await connectObserver(lab.server.connectString);
    await using holder = await account(lab.server.connectString, { auth: [alice], acl: creatorOnly });
    await using mine = await account(lab.proxy.connectString, { auth: [alice], acl: creatorOnly });
    const path = testPath('each-connection');
    const gate = await new InterProcessMutex(holder.client, path).acquire();
    const waiting = new InterProcessMutex(mine.client, path).acquire();
    const watching = (count: number): Promise<Frame> =>
      lab.proxy.seen(
        (frame) =>
          frame.from === 'server' &&
          (frame.op === 'setWatches' || (frame.op === 'getData' && frame.path === gate.path)),
        count,
      );
    await watching(1);
    for (const count of [2, 3]) {
      lab.proxy.cut();
      await watching(count);
    }
    const sessionId = mine.client.session.id;
    // The client must not reconnect before its session has ended.
    await lab.disconnect(mine.client);
    await outside.endSession(mine.client);
    await lab.proxy.accept();
    await watching(4);
    expect(mine.client.session.id).not.to.equal(sessionId);
    await gate.release();
    await (await waiting).release();

    // A connection on which the server reports an expired session carries nothing else.
    const accepted = connections()
      .map(ops)
      .filter((sent) => sent.length > 1);
    expect(accepted).to.have.length(4);
    for (const sent of accepted) {
      expect(sent.slice(0, 2)).to.deep.equal(['connect', 'auth']);
      expect(sent.filter((op) => op === 'auth')).to.have.length(1);
    }
    expect(lab.proxy.frames.filter((frame) => frame.err === -102)).to.deep.equal([]);
  });

  it('is sent before the requests that were made without a connection, so that these are allowed', async () => {
    await using mine = await account(lab.proxy.connectString, { auth: [alice], acl: creatorOnly });
    const path = testPath('asked-before');
    const mutex = new InterProcessMutex(mine.client, path);
    const hold = await mutex.acquire();
    await lab.disconnect(mine.client);
    const releasing = hold.release();
    const acquiring = mutex.acquire();
    const queue = mutex.participants();
    await lab.proxy.accept();
    expect(await releasing).to.equal('released');
    await (await acquiring).release();
    await queue;
    expect(ops(connections().at(-1)).slice(0, 2)).to.deep.equal(['connect', 'auth']);
    expect(lab.proxy.frames.filter((frame) => frame.err === -102)).to.deep.equal([]);
  });

  it('is sent once after connections that ended before they were answered', async () => {
    let dropped = 0;
    lab.proxy.on((frame) =>
      frame.from === 'server' && frame.op === 'connect' && (dropped += 1) <= 3 ? 'cut' : undefined,
    );
    await using mine = await account(lab.proxy.connectString, { auth: [alice], acl: creatorOnly });
    await new InterProcessMutex(mine.client, testPath('dropped')).withLock(() => undefined);
    expect(connections().map((frames) => ops(frames).filter((op) => op === 'auth').length)).to.deep.equal([0, 0, 0, 1]);
  });

  it('sends all credentials first, in the order of the option', async () => {
    await using mine = await account(lab.proxy.connectString, { auth: [alice, work] });
    await new InterProcessMutex(mine.client, testPath('all')).withLock(() => undefined);
    const [frames = []] = connections();
    expect(ops(frames).slice(0, 3)).to.deep.equal(['connect', 'auth', 'auth']);
    expect(frames.slice(1, 3).map(credentialOf)).to.deep.equal([alice, work]);
    expect(frames.slice(3).filter((frame) => frame.op === 'auth')).to.deep.equal([]);
  });

  it('with a scheme that the server does not know fails with an AuthFailedError that names the servers', async () => {
    const error = await rejection(
      account(lab.server.connectString, { auth: [{ scheme: 'palm-reading', credentials: 'alice:life line' }] }),
    );
    expect(error).to.be.instanceOf(AuthFailedError).with.property('code', 'ERR_LOCK_AUTH_FAILED');
    expect(error.message).to.contain(lab.server.connectString);
  });

  it('that is refused later ends the session and is repeated, with pauses, until it is accepted', async () => {
    const warnings: string[] = [];
    await using mine = await account(lab.proxy.connectString, {
      auth: [alice],
      acl: creatorOnly,
      logger: { warn: (_details, message) => void warnings.push(message) },
    });
    const hold = await new InterProcessMutex(mine.client, testPath('refused-later')).acquire();
    const accept = lab.proxy.on((frame) =>
      frame.from === 'server' && frame.op === 'auth' ? { replaceError: -115 } : undefined,
    );
    const loss = aborted(hold.signal);
    const refusedAt = lab.now();
    const refusals = 7;
    const refused = lab.proxy.seen((frame) => frame.from === 'server' && frame.op === 'auth', refusals + 1);
    lab.proxy.cut();
    await loss;
    await refused;
    expect(warnings.filter((text) => text.includes('refused the credentials'))).to.have.length(1);
    // There is no pause after a session that was once accepted, then pauses of 25, 50, 100, 200 and 400 ms, or up to twice
    // as long.
    expect(lab.now() - refusedAt).to.be.within(775, 1_550 + 60);
    expect(warnings.find((text) => text.includes('refused the credentials of scheme "digest"'))).to.contain(
      lab.proxy.connectString,
    );
    expect(warnings.filter((text) => text.includes('Connected to'))).to.have.length(0);
    accept();
    await new InterProcessMutex(mine.client, testPath('accepted')).withLock((again) =>
      expect(again.isValid).to.equal(true),
    );
    expect(warnings.filter((text) => text.includes('Connected to'))).to.have.length(1);
    expect(await hold.release()).to.equal('lost');
  });

  it('with a wrong password fails at the guarded lock, not at the connection', async () => {
    const path = testPath('wrong-password');
    await using mine = await account(lab.server.connectString, { auth: [alice], acl: creatorOnly });
    await using wrong = await account(lab.server.connectString, {
      auth: [digest('alice:open barley')],
      acl: creatorOnly,
    });
    const hold = await new InterProcessMutex(mine.client, path).acquire();
    const error = await rejection(new InterProcessMutex(wrong.client, path).acquire());
    expect(error.code).to.equal('ERR_LOCK_REQUEST_FAILED');
    expect(error.cause).to.have.property('code', 'NO_AUTH');
    expect(await hold.release()).to.equal('released');
  });
});

function credentialOf(frame: Frame): Credential {
  const from = new Reader(frame.body, 8);
  from.int();
  return { scheme: from.text(), credentials: from.bytes().toString() };
}
