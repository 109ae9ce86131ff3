import '../../lab/servers/over-tls.ts';
// One client process of a run. Its owners take locks until the run tells them to stop.
import { LockClient } from '../../src/index.ts';
import { Random } from '../../lab/random.ts';
import type { ClientSetup, Order } from '../messages.ts';
import { lockOf } from './lock.ts';
import { Owner } from './owner.ts';
import { Recorder } from './recorder.ts';
import { Rests } from './rests.ts';
import { RegisterClient } from './register-client.ts';

const setup = JSON.parse(process.argv[2] ?? '') as ClientSetup;
const recorder = new Recorder(setup.client, setup.file);
const random = new Random(setup.seed, setup.incarnation);
const register = new RegisterClient(setup.registerPort);
const keeping = { until: 0 };
let isDraining = false;
let ids = 0;
let numbers = 0;

for (const what of ['unhandledRejection', 'uncaughtException', 'warning'] as const) {
  process.on(what, (error: unknown) =>
    recorder.record({
      type: 'warning',
      what,
      error: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
}
recorder.record({ type: 'started', incarnation: setup.incarnation });

const client = await connect();
client.on('state', (state) => recorder.record({ type: 'state', state }));
client.on('background', (event) => {
  if (event.type === 'connected') recorder.record({ type: 'session', sessionId: event.sessionId });
});
process.on('message', (order: Order) => obey(order));

const sticky = setup.stickyIdleMs === undefined ? undefined : { idleMs: setup.stickyIdleMs };
const locks = setup.locks.map((plan) => lockOf(plan, client, { sticky, overtakesPerWeight: setup.overtakesPerWeight }));
const nextId = (): string => `${setup.client}.${setup.incarnation}-${(ids += 1)}`;
/** No two processes of a run draw the same number. */
const nextNumber = (): number => Number(setup.client.slice(1)) * 1e9 + setup.incarnation * 1e6 + (numbers += 1);
const rests = setup.rests
  ? new Rests(new Random(setup.seed, 1_000 * setup.incarnation + 999), setup.sessionTimeoutMs)
  : undefined;
const run = async (index: number): Promise<void> => {
  const owner = new Owner({
    locks,
    recorder,
    register,
    nextId,
    nextNumber,
    keeping,
    sessionTimeoutMs: setup.sessionTimeoutMs,
    random: new Random(setup.seed, 1_000 * setup.incarnation + index),
  });
  // One event-loop turn between calls, because a call may also fail at once.
  while (!isDraining) {
    await owner.once();
    await new Promise((resolve) => setTimeout(resolve, random.between(0, 10)));
    await rests?.sitOut(() => isDraining);
  }
};
await Promise.all(Array.from({ length: setup.owners }, (_, index) => run(index)));

await client.close();
recorder.record({ type: 'left' });
register.close();
process.disconnect();

/** Tries again without a limit while the servers are away. */
async function connect(): Promise<LockClient> {
  for (;;) {
    try {
      const { connectString, sessionTimeoutMs, tickTimeMs } = setup;
      const connected = await LockClient.connect(connectString, {
        sessionTimeoutMs,
        connectionTimeoutMs: 30_000,
        tickTimeMs,
      });
      return connected;
    } catch (error) {
      if ((error as { code?: string }).code !== 'ERR_LOCK_CONNECTION_TIMEOUT') throw error;
    }
  }
}

function obey(order: Order): void {
  switch (order.is) {
    case 'drain':
      isDraining = true;
      return;
    case 'keep':
      keeping.until = performance.now() + order.ms;
      return;
    case 'stall': {
      const until = performance.now() + order.ms;
      while (performance.now() < until); // blocks the event loop
      process.send?.('awake');
      return;
    }
    case 'identify': {
      const { id, password } = client.session.connection.identity;
      process.send?.({ id: id.toString('hex'), password: password.toString('hex') });
    }
  }
}
