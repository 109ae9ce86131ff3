import { expect } from 'chai';
import { InterProcessMutex, LockClient } from '../../src/index.ts';
import { RunningTime } from '../../lab/running-time.ts';
import { testPath } from '../../lab/test-path.ts';
import { rejection, until } from '../../lab/until.ts';
import { tickTimeMs, useTrio, type Trio } from '../../lab/servers/trio.ts';

/** How much later than a timer a promise may settle. */
const slackMs = 50;

const outages: Readonly<Record<string, (trio: Trio) => Promise<unknown>>> = {
  'are killed': ({ servers }) => Promise.all(servers.map((server) => server.kill())),
  'are stopped': async ({ servers }) => servers.forEach((server) => server.pause()),
  'are cut off': (trio) => Promise.all(trio.servers.map((server) => trio.cutClientsOff(server))),
};

describe('while all servers', function () {
  this.timeout(90_000);
  const used = useTrio();

  for (const [what, happens] of Object.entries(outages)) {
    for (const knowTick of [false, true])
      it(`${what}, a wait settles at its deadline, or at once when it is aborted, and leaves no znode (the tick is ${knowTick ? 'known' : 'not known'})`, async () => {
        const connectString = used.trio.connectString;
        // The session timeout is longer than the outage.
        const options = { sessionTimeoutMs: 20_000, ...(knowTick && { tickTimeMs }) };
        const [holder, waiter] = await Promise.all([
          LockClient.connect(connectString, options),
          LockClient.connect(connectString, options),
        ]);
        const path = testPath('outage');
        const seen = new InterProcessMutex(holder, path);
        const hold = await seen.acquire();
        const mutex = new InterProcessMutex(waiter, path);
        const remaining = mutex.acquire();

        const controllers = [new AbortController(), new AbortController()] as const;
        // They are still there when all wait and the outage begins, also on a busy machine.
        const deadlines = [late(mutex, 6_000), late(mutex, 6_700)];
        const aborts = [rejection(mutex.acquire({ signal: controllers[0].signal }))];
        await until('all wait', async () => (await seen.participants()).length === 5);
        const queue = await seen.participants();
        await happens(used.trio);
        deadlines.push(late(mutex, 0.5), late(mutex, 700));
        aborts.push(rejection(mutex.acquire({ signal: controllers[1].signal })));
        const tried = triesInVain(mutex, 300);

        for (const lateMs of await Promise.all([...deadlines, tried]))
          expect(lateMs, 'milliseconds after the deadline').to.be.within(0, slackMs);
        const reason = new Error('never mind');
        controllers.forEach((controller) => controller.abort(reason));
        expect(await Promise.race([Promise.all(aborts), nextTurn()])).to.deep.equal([reason, reason]);

        await used.trio.mend();
        // A stopped server still had their create requests to read, so those znodes come and go.
        const left = queue
          .slice(0, 2)
          .map((participant) => participant.path)
          .join();
        await until(
          'only the holder and the remaining waiter have a znode',
          async () => (await names(seen)).join() === left,
          20_000,
        );
        await hold.release();
        await (await remaining).release();
        await until('no znode is left', async () => (await names(seen)).length === 0);
        await Promise.all([holder.close(), waiter.close()]);
      });
  }
});

/** Returns how many milliseconds after its timeout an acquire settles. */
function late(mutex: InterProcessMutex, timeoutMs: number): Promise<number> {
  return lateBy(timeoutMs, async () =>
    expect((await rejection(mutex.acquire({ timeoutMs }))).code).to.equal('ERR_LOCK_TIMEOUT'),
  );
}

function triesInVain(mutex: InterProcessMutex, timeoutMs: number): Promise<number> {
  return lateBy(timeoutMs, async () => expect(await mutex.tryAcquire(timeoutMs)).to.equal(undefined));
}

/** Negative if it settles early. The time for which a busy machine holds this process or a timer up is not counted. */
async function lateBy(timeoutMs: number, what: () => Promise<unknown>): Promise<number> {
  const deadline = performance.now() + timeoutMs;
  using running = new RunningTime();
  const happens = what();
  const timer = new Promise<number>((resolve) => setTimeout(() => resolve(running.ms), timeoutMs));
  await happens;
  const [settledAt, ranMs] = [performance.now(), running.ms];
  return settledAt < deadline ? settledAt - deadline : Math.max(0, ranMs - (await timer));
}

function nextTurn(): Promise<string> {
  return new Promise((resolve) => setImmediate(() => resolve('not at once')));
}

async function names(mutex: InterProcessMutex): Promise<string[]> {
  return (await mutex.participants()).map(({ path }) => path);
}
