import { expect } from 'chai';
import {
  InterProcessMutex,
  InterProcessReadWriteLock,
  InterProcessSemaphore,
  InterProcessSemaphoreMutex,
  LockClient,
  revoke,
  type AskOptions,
  type Hold,
} from '../../src/index.ts';
import { sharedZooKeeper } from '../../lab/hooks.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection } from '../../lab/until.ts';
import { startProxy, type ZkProxy } from '../../lab/proxy/zk-proxy.ts';
import { reached } from '../../lab/reached.ts';

interface Question {
  readonly name: string;
  /** The text of the LockTimeoutError before the time. */
  readonly text: string;
  ask(options?: AskOptions): Promise<unknown>;
}

describe('a query', () => {
  let proxy: ZkProxy;
  let client: LockClient;
  let other: LockClient;
  let hold: Hold;
  let questions: readonly Question[];

  beforeEach(async () => {
    const server = await sharedZooKeeper();
    proxy = await startProxy(Number(server.connectString.split(':').at(-1)));
    [client, other] = await Promise.all([
      LockClient.connect(proxy.connectString, { sessionTimeoutMs: 2_000 }),
      LockClient.connect(server.connectString),
    ]);
    const path = testPath('asked');
    hold = await new InterProcessMutex(other, `${path}/mutex`).acquire();
    questions = questionsOf(client, path, hold);
    for (const { ask } of questions) await ask();
  });

  afterEach(async () => {
    proxy.speak();
    await Promise.all([client.close({ timeoutMs: 500 }), other.close()]);
    await proxy.close();
  });

  it('settles at its timeout while the server is silent, and names what was not read', async () => {
    proxy.silence();
    const asked = questions.map(({ ask }) => rejection(ask({ timeoutMs: 30 })));
    for (const [index, error] of (await Promise.all(asked)).entries()) {
      expect(error.code).to.equal('ERR_LOCK_TIMEOUT');
      expect(error.message).to.match(
        new RegExp(`^${questions[index]?.text ?? ''} within 30 ms: no server has answered for \\d+ ms`),
      );
    }
    expect(client.state).to.equal('connected');
    // The requests that are still in flight fail now: no caller waits for them.
    const suspended = reached(client, 'suspended');
    proxy.cut();
    await suspended;
  });

  it('that has no time for an answer says so', async () => {
    for (const { text, ask } of questions) {
      const error = await rejection(ask({ timeoutMs: 0 }));
      expect(error).to.include({ reason: 'no-answer' });
      expect(error.message).to.equal(
        `${text} within 0 ms: the answers of the servers did not arrive in time. Give the call more time`,
      );
    }
  });

  it('settles at its timeout while no server can be reached', async () => {
    await cutOff();
    for (const { ask, text } of questions)
      expect((await rejection(ask({ timeoutMs: 5 }))).message).to.match(
        new RegExp(`^${text} within 5 ms: no server has answered for`),
      );
  });

  it('settles after the session timeout if no timeout is given', async () => {
    proxy.silence();
    const asked = questions.map(({ ask }) => rejection(ask()));
    for (const [index, error] of (await Promise.all(asked)).entries()) {
      expect(error.message).to.match(
        new RegExp(
          `^${questions[index]?.text ?? ''} within ${client.sessionTimeoutMs} ms: no server has answered for \\d\\.\\d s`,
        ),
      );
    }
  });

  it('rejects with the reason of its signal, also if the signal aborted before the call', async () => {
    proxy.silence();
    const controller = new AbortController();
    const reason = new Error('enough');
    const asked = questions.map(({ ask }) => rejection(ask({ signal: controller.signal })));
    controller.abort(reason);
    expect(new Set(await Promise.all(asked))).to.deep.equal(new Set([reason]));
    for (const { ask } of questions) expect(await rejection(ask({ signal: controller.signal }))).to.equal(reason);
  });

  it('rejects when the client is closed, before the servers have answered the close', async () => {
    proxy.silence();
    const asked = questions.map(({ ask }) => rejection(ask()));
    let isClosed = false;
    const closing = client.close({ timeoutMs: 1_000 }).then(() => (isClosed = true));
    for (const error of await Promise.all(asked)) expect(error.code).to.equal('ERR_LOCK_CLIENT_CLOSED');
    expect(isClosed).to.equal(false);
    await closing;
  });

  it('is answered as soon as a server can be reached again', async () => {
    await cutOff();
    const asked = questions.map(({ ask }) => ask({ timeoutMs: 60_000 }));
    await proxy.accept();
    await Promise.all(asked);
  });

  it('makes its server catch up with the leader before it reads, because the server may lag behind', async () => {
    for (const { name, ask } of questions) {
      proxy.clear();
      await ask();
      const [first, ...others] = proxy.frames.filter(({ from, path }) => from === 'client' && path !== '/');
      expect(first?.op, name).to.equal('sync');
      expect(others, name).to.not.deep.equal([]);
    }
  });

  it('refuses bad options before anything is sent', async () => {
    proxy.clear();
    for (const { name, ask } of questions) {
      for (const [options, type, text] of [
        [{ timeoutMs: -1 }, RangeError, '`timeoutMs`'],
        [{ timeoutMs: '1' }, TypeError, '`timeoutMs`'],
        [{ signal: {} }, TypeError, '`signal`'],
        [{ timeout: 1 }, TypeError, 'Unknown option `timeout`'],
        [5, TypeError, 'options'],
      ] as const) {
        const error = await rejection(ask(options as unknown as AskOptions));
        expect(error, name).to.be.instanceOf(type);
        expect(error.message).to.contain(text);
      }
    }
    expect(
      proxy.frames.filter(({ from, op }) => from === 'client' && /getChildren|getData|exists|setData/.test(op)),
    ).to.deep.equal([]);
  });

  async function cutOff(): Promise<void> {
    const suspended = reached(client, 'suspended');
    await proxy.refuse();
    proxy.cut();
    await suspended;
  }
});

function questionsOf(client: LockClient, path: string, held: Hold): Question[] {
  const pair = new InterProcessReadWriteLock(client, `${path}/pair`);
  const semaphore = new InterProcessSemaphore(client, `${path}/semaphore`, { maxLeases: 2 });
  const single = new InterProcessSemaphoreMutex(client, `${path}/single`);
  const mutexes = {
    mutex: new InterProcessMutex(client, `${path}/mutex`),
    'read lock': pair.readLock,
    'write lock': pair.writeLock,
    'weighted mutex': new InterProcessMutex(client, `${path}/weighted`, { weights: {} }),
  };
  const ofMutexes = Object.entries(mutexes).flatMap(([name, mutex]) => [
    {
      name: `${name}.participants`,
      text: `The participants of ${mutex.path} were not read`,
      ask: (options?: AskOptions) => mutex.participants(options),
    },
    {
      name: `${name}.holder`,
      text: `The holder of ${mutex.path} was not read`,
      ask: (options?: AskOptions) => mutex.holder(options),
    },
    {
      name: `${name}.isLocked`,
      text: `The holder of ${mutex.path} was not read`,
      ask: (options?: AskOptions) => mutex.isLocked(options),
    },
  ]);
  const ofSemaphores = [semaphore, single].map((one) => ({
    name: 'participants of a semaphore',
    text: `The participants of ${one.path} were not read`,
    ask: (options?: AskOptions) => one.participants(options),
  }));
  const revoking = {
    name: 'revoke',
    text: `The participant ${held.path} was not revoked`,
    ask: (options?: AskOptions) => revoke(client, held.path, options),
  };
  return [...ofMutexes, ...ofSemaphores, revoking];
}
