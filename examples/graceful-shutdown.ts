// A worker that ends well: at SIGTERM it stops waiting, finishes the job that it is at, and leaves nothing in the
// queue.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { InterProcessMutex, LockClient } from 'zookeeper-fair-lock';

const servers = process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181';

// The library installs no signal handler: when to end is up to the application.
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const client = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, '/locks/nightly');
mutex.on('queued', ({ position }) => console.log(`waiting behind ${position}`));

while (!stop.signal.aborted) {
  try {
    // The signal ends the wait for the lock. A job that has started is left to finish.
    await mutex.withLock(
      async (hold) => {
        console.log('working');
        // What ends the job early is the loss of the lock, nothing else.
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

// It is bounded also where no server answers: then the servers delete the znodes when the session is over.
await client.close({ timeoutMs: 5_000 });
assert.equal(mutex.isAcquiredInThisProcess, false);
console.log('closed');
// No process.exit(): a closed client keeps nothing alive.
