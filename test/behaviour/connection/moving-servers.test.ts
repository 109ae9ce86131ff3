import { expect } from 'chai';
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  ClientClosedError,
  InterProcessMutex,
  LockClient,
  type BackgroundEvent,
  type LockClientOptions,
} from '../../../src/index.ts';
import { sleep } from '../../../lab/world.ts';
import { queueOf, queueReaches } from '../../../lab/queue.ts';
import { startProxy, type Newcomers, type ZkProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startEnsemble, type Ensemble } from '../../../lab/servers/zookeeper-server.ts';
import { nextState } from '../../../lab/lock-clients.ts';
import { rejection, until } from '../../../lab/until.ts';

/** An ensemble whose members are reached at places that change. */
class MovingServers {
  readonly #ensemble: Ensemble;
  #places: ZkProxy[] = [];

  constructor(ensemble: Ensemble) {
    this.#ensemble = ensemble;
  }

  get list(): string {
    return this.#places.map(({ connectString }) => connectString).join(',');
  }

  async open(): Promise<void> {
    this.#places = await Promise.all(this.#ensemble.servers.map(({ port }) => startProxy(port)));
  }

  async close(): Promise<void> {
    await Promise.all(this.#places.map((place) => place.close()));
  }

  /** All members serve at other ports from now on. */
  async move(): Promise<void> {
    await this.close();
    await this.open();
  }

  async moveOne(index: number): Promise<void> {
    await this.#places[index]?.close();
    this.#places[index] = await startProxy(this.#ensemble.servers[index]?.port ?? 0);
  }

  async outage(newcomers: Newcomers = 'refused'): Promise<void> {
    await Promise.all(this.#places.map((place) => place.admit(newcomers)));
    for (const place of this.#places) place.cut();
  }

  async mend(): Promise<void> {
    await Promise.all(this.#places.map((place) => place.admit('served')));
  }
}

describe('a client whose servers move', function () {
  // The limit is virtual time.
  this.timeout(24 * 3_600_000);
  let ensemble: Ensemble;
  let servers: MovingServers;
  let clients: LockClient[];
  let calls: number;
  let events: BackgroundEvent[];

  before(async () => void (ensemble = await startEnsemble(3, { config: { maxSessionTimeout: 3_600_000 } })));
  beforeEach(async () => {
    servers = new MovingServers(ensemble);
    await servers.open();
    clients = [];
    calls = 0;
    events = [];
  });
  afterEach(async () => {
    await servers.mend();
    await Promise.all(clients.map((client) => client.close({ timeoutMs: 500 })));
    await servers.close();
  });
  after(() => ensemble.stop());

  type Answer = () => unknown;

  const connect = async (answer: Answer = () => servers.list, options?: LockClientOptions): Promise<LockClient> => {
    const counted = (): string => {
      calls += 1;
      return answer() as string;
    };
    const client = await LockClient.connect(counted, { sessionTimeoutMs: 10_000, ...options });
    clients.push(client);
    client.on('background', (event) => events.push(event));
    return client;
  };
  const warnings = (): string[] =>
    events.flatMap((event) =>
      event.type === 'warning' ? [`${event.message}: ${event.error instanceof Error ? event.error.message : ''}`] : [],
    );
  /** The number of calls while `act` runs. */
  const callsIn = async (act: () => Promise<unknown>): Promise<number> => {
    const before = calls;
    await act();
    return calls - before;
  };
  const reconnects = (client: LockClient): Promise<void> =>
    until('the client is connected again', () => client.state === 'reconnected');

  const answers: [name: string, answer: Answer][] = [
    ['a function', () => servers.list],
    ['an async function', () => sleep(20).then(() => servers.list)],
  ];
  for (const [name, answer] of answers)
    it(`by ${name} keeps its session, its hold and its waiters`, async () => {
      const client = await connect(answer);
      const [{ sessionId }, mutex] = [client.health(), new InterProcessMutex(client, '/moving/all')];
      const [theirs, others] = [
        new InterProcessMutex(await connect(answer), '/moving/all'),
        new InterProcessMutex(await connect(answer), '/moving/all'),
      ];
      const hold = await mutex.acquire();
      const next = theirs.acquire();
      await queueReaches(mutex, 2);
      const last = others.acquire();
      await queueReaches(mutex, 3);
      const queue = await queueOf(mutex);
      await servers.move();
      await reconnects(client);
      expect(client.health().sessionId).to.equal(sessionId);
      expect([hold.isValid, hold.signal.aborted]).to.deep.equal([true, false]);
      expect(await queueOf(mutex)).to.deep.equal(queue);
      expect(await hold.release()).to.equal('released');
      const second = await next;
      expect(second.path).to.equal(queue[1]);
      await second.release();
      await (await last).release();
      expect(warnings()).to.deep.equal([]);
    });

  it('logs each new list once', async () => {
    const lines: string[] = [];
    const before = servers.list;
    const client = await connect(undefined, { logger: { warn: () => undefined, info: (_, line) => lines.push(line) } });
    await servers.move();
    await reconnects(client);
    expect(lines[0]).to.equal(`The servers are now ${servers.list}, in place of ${before}`);
    expect(lines.filter((line) => line.startsWith('The servers are now'))).to.have.length(1);
  });

  it('follows servers that move one by one, and is back at the first of them', async () => {
    const client = await connect();
    const hold = await new InterProcessMutex(client, '/moving/one').acquire();
    for (const index of [0, 1, 2, 0, 1, 2]) {
      await servers.moveOne(index);
      await sleep(1_000);
    }
    await until('the client is connected', () => client.state !== 'suspended');
    expect([hold.isValid, await hold.release()]).to.deep.equal([true, 'released']);
  });

  it('is asked after each round of failures, at most once a second at first, and not while it is connected', async () => {
    const client = await connect();
    expect(await callsIn(() => sleep(60_000))).to.equal(0);
    const lost = nextState(client);
    await servers.outage();
    await lost;
    expect(await callsIn(() => sleep(300))).to.equal(1);
    expect(await callsIn(() => sleep(4_000))).to.be.within(2, 4);
    await servers.mend();
    await reconnects(client);
    expect(await callsIn(() => sleep(60_000))).to.equal(0);
  });

  it('is asked less often in a long outage, but at least every minute or two', async () => {
    await connect();
    await servers.outage();
    await sleep(20 * 60_000);
    expect(await callsIn(() => sleep(10 * 60_000))).to.be.within(9, 10);
  });

  it('is asked every two minutes while one attempt lasts longer', async () => {
    // An attempt may last a third of the session timeout.
    await connect(undefined, { sessionTimeoutMs: 3_600_000 });
    await servers.outage('silent');
    await sleep(3 * 3_600_000);
    expect(await callsIn(() => sleep(20 * 60_000))).to.be.within(9, 11);
  });

  it('uses a list at once that comes late in a round', async () => {
    let answerMs = 0;
    const client = await connect(() => (answerMs === 0 ? servers.list : sleep(answerMs).then(() => servers.list)));
    const hold = await new InterProcessMutex(client, '/moving/late').acquire();
    answerMs = 2_000;
    await servers.outage();
    await sleep(500);
    await servers.move();
    await reconnects(client);
    expect(await hold.release()).to.equal('released');
  });

  const troubles: [what: string, answer: Answer, error: RegExp][] = [
    [
      'throws',
      () => {
        throw new Error('the registry is down');
      },
      /the registry is down$/,
    ],
    ['rejects', () => Promise.reject(new Error('the registry is down')), /the registry is down$/],
    ['returns nothing', () => undefined, /Expected the result of `connectString\(\)` to be host.*got undefined$/],
    [
      'returns an array',
      () => ['zk1'],
      /Expected the result of `connectString\(\)` to be host.*got an array: join the hosts by commas$/,
    ],
    [
      'returns an empty text',
      () => '',
      /Expected the result of `connectString\(\)` to be host.*got "": it names no host/,
    ],
    ['returns no port', () => Promise.resolve('zk1:'), /to be host\[:port\].*got "zk1:": the port of "zk1:" must be/],
    ['returns a secret', () => 'user:hunter2@zk1', /got "\*\*\*@zk1"/],
    [
      'returns another chroot',
      () => `${servers.list}/other`,
      /Expected the result of `connectString\(\)` to have no chroot as before, got the chroot \/other: the locks/,
    ],
    ['never settles', () => new Promise(() => undefined), /has not settled for 10000 ms, although a connect string/],
  ];
  for (const [what, answer, error] of troubles)
    it(`keeps its list if the function ${what}, and says so once`, async () => {
      let isBad = false;
      const client = await connect(() => (isBad ? answer() : servers.list));
      const hosts = servers.list;
      const lost = nextState(client);
      isBad = true;
      await servers.outage();
      await lost;
      await sleep(25_000);
      expect(warnings()).to.have.length(1);
      expect(warnings()[0]).to.match(/^The client keeps its servers 127.*, because the result of .* cannot be used: /);
      expect(warnings()[0]).to.match(error).and.to.contain(hosts).and.not.to.contain('hunter2');
      await servers.mend();
      await reconnects(client);
      // It is asked again in the next outage.
      isBad = false;
      await servers.move();
      await until('the client is connected again', () => client.health().server !== undefined);
      await (await new InterProcessMutex(client, '/moving/trouble').acquire({ timeoutMs: 10_000 })).release();
    });

  it('says a trouble again that was over meanwhile', async () => {
    let isBad = false;
    const client = await connect(() => {
      if (isBad) throw new Error('the registry is down');
      return servers.list;
    });
    const lost = nextState(client);
    await servers.outage();
    await lost;
    for (const expected of [1, 1, 2]) {
      isBad = !isBad;
      await sleep(25_000);
      expect(warnings()).to.have.length(expected);
    }
    await servers.mend();
  });

  it('may change back to a chroot that is the same, and to the same servers in another order', async () => {
    const reversed = (): string => servers.list.split(',').reverse().join(',');
    let isReversed = false;
    const client = await connect(() => `${isReversed ? reversed() : servers.list}/moving`);
    isReversed = true;
    const lost = nextState(client);
    await servers.outage();
    await lost;
    await sleep(3_000);
    await servers.mend();
    await reconnects(client);
    expect(warnings()).to.deep.equal([]);
  });

  it('closes while its function is pending', async () => {
    let isPending = false;
    const client = await connect(() => (isPending ? new Promise(() => undefined) : servers.list));
    isPending = true;
    await servers.outage();
    const waiting = rejection(new InterProcessMutex(client, '/moving/closed').acquire());
    await sleep(2_000);
    const { length } = warnings();
    await client.close({ timeoutMs: 1_000 });
    expect(await waiting).to.be.instanceOf(ClientClosedError);
    expect(await callsIn(() => sleep(60_000))).to.equal(0);
    expect(warnings()).to.have.length(length);
  });

  it('is asked outside of every lock context and store', async () => {
    const store = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    let mutex: InterProcessMutex | undefined;
    const client = await store.run('of the request', () =>
      connect(() => {
        seen.push(store.getStore(), mutex?.isOwnedByCurrentContext);
        return sleep(1).then(() => (seen.push(store.getStore()), servers.list));
      }),
    );
    const held = (mutex = new InterProcessMutex(client, '/moving/context'));
    await store.run('of the job', () =>
      held.withLock(async () => {
        await servers.move();
        await reconnects(client);
      }),
    );
    expect(seen.length).to.be.above(3);
    expect(seen.filter((each) => each !== undefined && each !== false)).to.deep.equal([]);
  });

  describe('at connect', () => {
    const connecting = (answer: Answer, options: LockClientOptions = {}): Promise<Error> =>
      rejection(connect(answer, { connectionTimeoutMs: 2_000, ...options }));

    for (const [what, answer, error] of troubles.filter(([, , { source }]) => !/settled|as before/.test(source)))
      it(`rejects if the function ${what}`, async () => {
        const lines: unknown[] = [];
        const rejected = await connecting(answer, { logger: { warn: (_, text) => lines.push(text) } });
        expect(rejected.message).to.match(error);
        expect([calls, lines]).to.deep.equal([1, []]);
      });

    it('rejects after its time limit if the function never settles', async () => {
      const error = await connecting(() => new Promise(() => undefined));
      expect(error).to.have.property('code', 'ERR_LOCK_CONNECTION_TIMEOUT');
      expect(error.message).to.equal(
        'No ZooKeeper server answered within 2000 ms; last: `connectString()` has not settled yet. ' +
          'The function must return a connect string, or a promise of one, within that time',
      );
    });

    it('rejects with the reason of the signal while the function is pending', async () => {
      const stop = new AbortController();
      setTimeout(() => stop.abort(new Error('stopped')), 100);
      const error = await connecting(() => new Promise(() => undefined), { signal: stop.signal });
      expect(error.message).to.equal('stopped');
    });

    it('follows a list that changes before a server has answered', async () => {
      await servers.outage();
      const connected = connect(undefined, { connectionTimeoutMs: 20_000 });
      await sleep(2_000);
      await servers.move();
      expect((await connected).state).to.equal('connected');
    });
  });
});
