import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { imitation } from '../../../lab/servers/versions.ts';
import { startRealServer, type ZooKeeperServer } from '../../../lab/servers/zookeeper-server.ts';
import { until } from '../../../lab/until.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';
import { PlainSession } from './support/plain-session.ts';

/** Long, because a busy machine may hold a script or a server up for most of a tick. */
const tickMs = 500;
const [minSessionTimeout, maxSessionTimeout] = [2 * tickMs, 20 * tickMs];
const timeoutMs = 6_000;
/** A session of `timeoutMs` lives for at least `timeoutMs` after its last request, and at most one tick longer. */
const halfMs = timeoutMs / 2;

/** A script plays with the sessions of one server, and returns what it saw. */
type Script = (port: number) => Promise<unknown>;

describe('the end of a session, on an embedded ZooKeeper and on the real one', function () {
  this.timeout(60_000);
  let real: ZooKeeperServer;
  let zk: EmbeddedZooKeeper;
  const scripts = new Map<string, Script>();
  const results = new Map<string, Promise<[ours: unknown, theirs: unknown]>>();
  before(async () => {
    real = await startRealServer({ tickTimeMs: tickMs, config: { minSessionTimeout, maxSessionTimeout } });
    zk = await EmbeddedZooKeeper.start({ ...imitation(), tickTimeMs: tickMs });
    // All at once, because the clock of the real server cannot be driven. No two scripts use the same znodes.
    for (const [title, script] of scripts) {
      const both = Promise.all([script(zk.port), script(real.port)]);
      both.catch(() => undefined); // its test reports the error
      results.set(title, both);
    }
  });
  after(() => Promise.all([real.stop(), zk.stop()]));

  same('negotiates the same timeouts, for a new session and for one that is resumed', async (port) => {
    const granted: [asked: number, granted: number, resumed: number][] = [];
    const bounds = [minSessionTimeout, maxSessionTimeout].flatMap((bound) => [bound - 1, bound, bound + 1]);
    for (const asked of [-1, 0, 1, ...bounds, 1_234, 2 ** 31 - 1, -(2 ** 31)]) {
      const session = await PlainSession.open(port, timeoutMs);
      const { ticket } = session;
      granted.push([
        asked,
        (await PlainSession.open(port, asked)).timeoutMs,
        (await PlainSession.open(port, asked, ticket)).timeoutMs,
      ]);
    }
    return granted;
  });

  same('deletes the ephemeral znodes in the same order, and sends the same events to a watcher', async (port) => {
    const parents = ['/order', '/order/deep'];
    const watcher = await PlainSession.open(port, maxSessionTimeout);
    for (const path of parents) await watcher.create(path, 0);
    const session = await PlainSession.open(port, timeoutMs);
    for (let number = 0; number < 12; number += 1) {
      const path = `${parents[number % 2] ?? ''}/ephemeral-${number * 37}`;
      await session.create(path, 1);
      if (number % 3 !== 0) await watcher.request({ op: 'exists', path, watch: true });
    }
    await session.create('/order/lock-', 3);
    for (const path of parents) await watcher.request({ op: 'getChildren', path, watch: true });
    await watcher.request({ op: 'addWatch', path: '/order/deep', type: 1 });
    const end = await ended(session);
    // Java closes an idle connection by a clock of its own, at times before it ends the session.
    const other = await PlainSession.open(port, maxSessionTimeout);
    await until('the session has ended', async () => !(await childrenOf(other, ['/order/deep'])).flat().length);
    return [end, await rest(watcher), await childrenOf(watcher, parents)];
  });

  same('sends the same events when the client closes the session, and answers it last', async (port) => {
    const watcher = await PlainSession.open(port, maxSessionTimeout);
    await watcher.create('/closed', 0);
    const session = await PlainSession.open(port, timeoutMs);
    for (const name of ['b', 'a', 'c']) await session.create(`/closed/${name}`, 1);
    for (const side of [watcher, session]) {
      await side.request({ op: 'getChildren', path: '/closed', watch: true });
      await side.request({ op: 'getData', path: '/closed/a', watch: true });
    }
    await session.request({ op: 'closeSession' });
    const refused = await PlainSession.open(port, timeoutMs, session.ticket);
    return [await ended(session), await ended(refused), await rest(watcher)];
  });

  same('refuses a client that attaches an expired session, as soon as its znodes are gone', async (port) => {
    const watcher = await PlainSession.open(port, maxSessionTimeout);
    const session = await PlainSession.open(port, timeoutMs);
    await session.create('/attached', 1);
    await session.disconnect();
    await watcher.request({ op: 'exists', path: '/attached', watch: true });
    const event = await watcher.nextEvent();
    const refused = await PlainSession.open(port, timeoutMs, session.ticket);
    return [event, refused.timeoutMs, refused.ticket.password.toString('hex'), await ended(refused)];
  });

  same('refuses a wrong password, which ends the connection of the session but not the session', async (port) => {
    const session = await PlainSession.open(port, timeoutMs);
    await session.create('/password', 1);
    const { sessionId } = session.ticket;
    const thief = await PlainSession.open(port, timeoutMs, { sessionId, password: Buffer.alloc(16, 1) });
    const short = await PlainSession.open(port, timeoutMs, { sessionId, password: Buffer.alloc(3) });
    const owner = await PlainSession.open(port, timeoutMs, session.ticket);
    const owns = (await owner.request({ op: 'exists', path: '/password' })).error;
    await owner.request({ op: 'closeSession' });
    return [await ended(thief), await ended(short), await ended(session), await ended(owner), owns];
  });

  same('counts the timeout from the last request: wrong passwords and auth packets do not extend it', async (port) => {
    const session = await PlainSession.open(port, timeoutMs);
    const proving = await PlainSession.open(port, timeoutMs);
    const { sessionId } = session.ticket;
    await delay(halfMs);
    await PlainSession.open(port, timeoutMs, { sessionId, password: Buffer.alloc(16, 1) });
    await proving.request({ op: 'auth', scheme: 'digest', credentials: 'ann:secret' });
    // Between the end of the session, at the latest one tick after its timeout, and the end of one that was extended.
    await delay(halfMs + 3 * tickMs);
    return [await ended(await PlainSession.open(port, timeoutMs, session.ticket)), await ended(proving)];
  });

  for (const op of ['ping', 'exists', 'whoAmI'] as const) {
    same(`is put off by each request, also by ${op}`, async (port) => {
      const session = await PlainSession.open(port, timeoutMs);
      for (let half = 0; half < 4; half += 1) {
        await delay(halfMs);
        await session.request(op === 'exists' ? { op, path: '/nowhere' } : { op });
      }
      return [seen(session), await ended(session)];
    });
  }

  same('is put off by an attach shortly before it, and then comes at the new time', async (port) => {
    const watcher = await PlainSession.open(port, maxSessionTimeout);
    const session = await PlainSession.open(port, timeoutMs);
    await session.create('/resumed', 1);
    await session.disconnect();
    await delay(timeoutMs - 5 * tickMs);
    const resumed = await PlainSession.open(port, timeoutMs, session.ticket);
    await resumed.disconnect();
    await delay(timeoutMs - 5 * tickMs);
    const kept = (await watcher.request({ op: 'exists', path: '/resumed', watch: true })).error;
    await watcher.nextEvent();
    const gone = (await watcher.request({ op: 'exists', path: '/resumed' })).error;
    return [seen(resumed), kept, gone, await rest(watcher)];
  });

  same('comes sooner if the session is resumed with a shorter timeout', async (port) => {
    const session = await PlainSession.open(port, maxSessionTimeout);
    const resumed = await PlainSession.open(port, minSessionTimeout, session.ticket);
    return [
      resumed.timeoutMs,
      await ended(resumed),
      await ended(await PlainSession.open(port, timeoutMs, session.ticket)),
    ];
  });

  same('moves a session to its newest connection, whose requests alone count', async (port) => {
    const first = await PlainSession.open(port, timeoutMs);
    await first.create('/moved', 1);
    const second = await PlainSession.open(port, timeoutMs, first.ticket);
    const third = await PlainSession.open(port, timeoutMs, second.ticket);
    await third.create('/moved-too', 1);
    await third.request({ op: 'getEphemerals', path: '/moved' });
    return [await ended(first), await ended(second), seen(third), await ended(third)];
  });

  /** Plays the script with both servers, which must show the same. */
  function same(title: string, script: Script): void {
    scripts.set(title, script);
    it(title, async () => {
      const [ours, theirs] = (await results.get(title)) ?? [];
      expect(ours).to.be.an('array').that.deep.equals(theirs);
    });
  }
});

function seen(session: PlainSession): unknown {
  return { isRefused: session.isRefused, isClosed: session.isClosed, transcript: session.transcript };
}

/** Returns all that a session has seen when the server has closed its connection. */
async function ended(session: PlainSession): Promise<unknown> {
  await session.closed;
  return seen(session);
}

/** Returns all that a session has seen when it has the events of all changes until now. */
async function rest(session: PlainSession): Promise<unknown> {
  await session.request({ op: 'ping' });
  return seen(session);
}

async function childrenOf(session: PlainSession, paths: readonly string[]): Promise<unknown[]> {
  return Promise.all(paths.map(async (path) => (await session.request({ op: 'getChildren', path })).record().texts()));
}
