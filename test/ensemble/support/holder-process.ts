import '../../../lab/servers/over-tls.ts';
// A process that holds a lock and checks all the time whether it still does. The test can block its event loop.
import { existsSync } from 'node:fs';
import { InterProcessMutex, LockClient, type ConnectionState } from '../../../src/index.ts';
import { exists } from '../../../src/zookeeper/wire/operations.ts';
import { monotonicMs } from './monotonic.ts';

/**
 * `block`: block the event loop until this file exists, or for so many milliseconds; `report`: send what the process
 * saw.
 */
export type Order = { readonly block: string | number } | 'report';

export interface Report {
  /** The last time at which a look found the hold valid. */
  readonly lastValidAt: number;
  /** The first check after the longest time without one. */
  readonly firstLook: { readonly afterMs: number; readonly isValid: boolean };
  readonly isAborted: boolean;
  readonly states: readonly ConnectionState[];
}

const [connectString = '', path = '', sessionTimeoutMs = '', tickTimeMs = ''] = process.argv.slice(2);

const client = await LockClient.connect(connectString, {
  sessionTimeoutMs: Number(sessionTimeoutMs),
  ...(tickTimeMs !== '' && { tickTimeMs: Number(tickTimeMs) }),
});
const hold = await new InterProcessMutex(client, path).acquire();
const { signal } = hold;
const states: ConnectionState[] = [];
client.on('state', (state) => states.push(state));

let lastLookAt = monotonicMs();
let lastValidAt = 0;
let firstLook: Report['firstLook'] = { afterMs: 0, isValid: true };

function look(): void {
  // The time comes first: if the process is stopped after the question, the answer still belongs to the time before it.
  const now = monotonicMs();
  const { isValid } = hold;
  if (isValid) lastValidAt = now;
  if (now - lastLookAt > firstLook.afterMs) firstLook = { afterMs: now - lastLookAt, isValid };
  lastLookAt = now;
}

function block(until: string | number): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  const startedAt = monotonicMs();
  const isOver = (): boolean => (typeof until === 'string' ? existsSync(until) : monotonicMs() - startedAt >= until);
  while (!isOver()) Atomics.wait(sleeper, 0, 0, 1);
  look();
}

process.on('message', (order: Order) => {
  if (order === 'report') {
    look();
    const report = (): void =>
      void process.send?.({ lastValidAt, firstLook, isAborted: signal.aborted, states } satisfies Report);
    // By the time of this answer, everything that the look triggered has happened.
    client.session.request(exists('/')).then(report, report);
  } else {
    // A request is then in flight whose answer the process does not read.
    client.session.prove().catch(() => undefined);
    setImmediate(() => block(order.block));
  }
});
process.on('disconnect', () => process.exit());
setInterval(look, 5);
process.send?.('held');
