// A process that holds a lock, and looks all the time whether it still does. Its event loop can be blocked from
// outside.
import { existsSync } from 'node:fs';
import { InterProcessMutex, LockClient, type ConnectionState } from '../../../src/index.ts';
import { exists } from '../../../src/zookeeper/operations.ts';
import { monotonicMs } from './monotonic.ts';

/** `block`: until there is such a file, or for as long; `report`: say what was seen. */
export type Order = { readonly block: string | number } | 'report';

export interface Report {
  /** When a look found the hold valid for the last time. */
  readonly lastValidAt: number;
  /** The first look after the longest time without one. */
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
  const { isValid } = hold;
  // After the question: who is stopped between the two has believed in it for too long.
  const now = monotonicMs();
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
    // By then, what the look has set off has happened.
    client.session.request(exists('/')).then(report, report);
  } else {
    // A request is under way then, whose answer nobody reads.
    client.session.prove().catch(() => undefined);
    setImmediate(() => block(order.block));
  }
});
process.on('disconnect', () => process.exit());
setInterval(look, 5);
process.send?.('held');
