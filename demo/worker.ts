import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient, type Hold } from '../src/index.js';
import { now, type Ask, type Entry, type Job } from './job.ts';
import { Marker } from './marker.ts';
import type { News, Order } from './messages.ts';

type Connect = Extract<Order, { is: 'connect' }>;
type State = { at: 'new' } | { at: 'connected'; client: LockClient; work: Work };

/** The parts of this worker that every job needs. */
interface Work {
  readonly worker: number;
  readonly mutex: InterProcessMutex;
  readonly marker: Marker;
}

const sessionTimeoutMs = 6_000;
const connectionTimeoutMs = 10_000;
const longestWaitMs = 30_000;
const closeLimitMs = 2_000;

const stopping = new AbortController();
let state: State = { at: 'new' };

process.on('message', (order: Order) => {
  obey(order).catch((error: unknown) => {
    if (!stopping.signal.aborted) tell({ is: 'failed', what: messageOf(error) });
  });
});
// The main process has ended or has closed the channel.
process.once('disconnect', () => void stop());
// A terminal sends these signals to all processes, but the main process decides when this one ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

async function obey(order: Order): Promise<void> {
  switch (order.is) {
    case 'connect':
      return connect(order);
    case 'begin':
      if (state.at !== 'connected') throw new Error('There is no client yet');
      await Promise.all(order.jobs.map(doJob(state.work)));
      return;
    case 'stop':
      return stop();
  }
}

async function connect({ worker, connectString, lockPath, markerPath }: Connect): Promise<void> {
  const client = await LockClient.connect(connectString, {
    sessionTimeoutMs,
    connectionTimeoutMs,
    signal: stopping.signal,
  });
  client.on('state', (connection) => tell({ is: 'connection', state: connection }));
  const mutex = new InterProcessMutex(client, lockPath);
  state = { at: 'connected', client, work: { worker, mutex, marker: new Marker(markerPath) } };
  // Creates the lock's own znode before the first job. A worker that had to create it during a job would be overtaken
  // by workers that find it.
  await mutex.withLock(() => undefined, { timeoutMs: longestWaitMs, signal: stopping.signal });
  tell({ is: 'ready' });
}

/** Each job asks for the lock as a separate owner. All jobs of all processes wait in one queue. */
function doJob({ worker, mutex, marker }: Work): (job: Job) => Promise<void> {
  return async ({ number: job, startMs, holdMs }) => {
    await delay(startMs, undefined, { signal: stopping.signal });
    const ask: Ask = { worker, job, askedAt: now() };
    tell({ is: 'asked', ask });
    await mutex.withLock((hold) => visit(hold, ask, holdMs, marker), {
      timeoutMs: longestWaitMs,
      signal: stopping.signal,
    });
    tell({ is: 'done', job });
  };
}

async function visit(hold: Hold, ask: Ask, holdMs: number, marker: Marker): Promise<void> {
  const grantedAt = now();
  const isAlone = marker.enter();
  const entry: Entry = { ...ask, grantedAt, token: hold.fencingToken, path: hold.path, metAnotherJob: !isAlone };
  tell({ is: 'granted', entry });
  try {
    await delay(holdMs, undefined, { signal: AbortSignal.any([hold.signal, stopping.signal]) }).catch(() =>
      hold.assertValid(),
    );
  } finally {
    if (isAlone) marker.leave();
    // The release follows in this tick, so the time to send this message counts as part of the hand-over.
    tell({ is: 'left', visit: { ...entry, leftAt: now() } });
  }
}

async function stop(): Promise<void> {
  stopping.abort();
  if (state.at === 'connected') await state.client.close({ timeoutMs: closeLimitMs });
  process.exit();
}

/** Without a callback, a closed channel would cause an uncaught error. */
function tell(news: News): void {
  process.send?.(news, undefined, undefined, () => undefined);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
