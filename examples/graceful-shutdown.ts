// A worker that shuts down cleanly: at SIGTERM it stops waiting, finishes its current job, and leaves nothing in the
// queue.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';

// The library installs no signal handler, because only the application knows when it should end.
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const client = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/nightly');
mutex.on('queued', ({ position }) => console.log(`waiting behind ${position}`));

while (!stop.signal.aborted) {
  try {
    // The signal ends only the wait for the lock. A job that has started runs to its end.
    await mutex.withLock(
      async (hold) => {
        console.log('working');
        // Only the loss of the lock ends the job early.
        await delay(500, undefined, { signal: hold.signal });
        hold.assertValid();
        console.log('finished');
      },
      { signal: stop.signal },
    );
  } catch (error) {
    if (error !== stop.signal.reason) throw error;
  }
}

// The timeout also holds if no server answers. In that case the servers delete the znodes when the session expires.
await client.close({ timeoutMs: 5_000 });
assert.equal(mutex.isAcquiredInThisProcess, false);
console.log('closed');
// No process.exit() is needed, because a closed client keeps nothing alive.
