import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { InterProcessMutex, type ConnectionState, type LockClient } from '../../../src/index.ts';
import { labOfEachTest } from '../../../lab/lab.ts';
import { testPath } from '../../../lab/test-path.ts';
import { becomeQuiet, createParents, statesOf } from './support.ts';

const sessionTimeoutMs = 6_000;
const clients = 30;
/** The observer has a connection, too. */
const config = { maxClientCnxns: clients + 1 };

describe('FIELD A2: at a server that takes no further connection', function () {
  this.timeout(300_000);
  const lab = labOfEachTest('full-server', { server: { config }, client: 'none' });
  let all: readonly LockClient[];
  let paths: readonly string[];
  let sessionIds: readonly (string | undefined)[];
  let states: ConnectionState[][];

  beforeEach(async () => {
    all = await Promise.all(Array.from({ length: clients }, () => lab.connect({ sessionTimeoutMs })));
    paths = all.map((_, index) => testPath(`lock-${index}`));
    await Promise.all(all.map((client, index) => createParents(client, paths[index] ?? '')));
    await becomeQuiet(sessionTimeoutMs);
    sessionIds = all.map((client) => client.health().sessionId);
    states = all.map(statesOf);
  });

  const acquireAll = async (): Promise<number> => {
    const outcomes = await Promise.allSettled(
      all.map(async (client, index) => {
        const mutex = new InterProcessMutex(client, paths[index] ?? '');
        const hold = await mutex.acquire({ timeoutMs: 2 * sessionTimeoutMs });
        const { isValid } = hold;
        await hold.release();
        return isValid;
      }),
    );
    return outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length;
  };

  it(`${clients} of ${clients} acquires of idle clients are granted, and no client is suspended`, async () => {
    expect(await acquireAll()).to.equal(clients);
    expect(states.flat().filter((state) => state === 'suspended')).to.have.length(0);
  });

  it('an idle client keeps its slot, while others try to get one', async () => {
    await using rivals = new Rivals(lab.server.port, 6);
    expect(await acquireAll()).to.equal(clients);
    await becomeQuiet(sessionTimeoutMs);
    expect(await acquireAll()).to.equal(clients);
    expect(states.flat().filter((state) => state === 'suspended')).to.have.length(0);
    expect(all.map((client) => client.health().sessionId)).to.deep.equal(sessionIds);
    expect(rivals.tries).to.be.above(100);
    expect(rivals.admitted).to.equal(0);
  });
});

/** Programs that dial again and again until the server takes them, and then stay. */
class Rivals implements AsyncDisposable {
  tries = 0;
  admitted = 0;
  readonly #port: number;
  readonly #sockets = new Set<Socket>();
  #isOver = false;

  constructor(port: number, count: number) {
    this.#port = port;
    for (let index = 0; index < count; index += 1) this.#dial();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
    return Promise.resolve();
  }

  #dial(): void {
    if (this.#isOver) return;
    this.tries += 1;
    const socket = connect(this.#port, '127.0.0.1');
    this.#sockets.add(socket);
    // A full server closes a connection as soon as it has accepted it.
    const stays = setTimeout(() => (this.admitted += 1), 100);
    socket.on('error', () => undefined).on('data', () => undefined);
    socket.on('close', () => {
      clearTimeout(stays);
      this.#sockets.delete(socket);
      setTimeout(() => this.#dial(), 20);
    });
  }
}
