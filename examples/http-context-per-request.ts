// An HTTP server in which each request is a separate owner. A lock context is to a request what a thread is in Java.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { InterProcessMutex, LockClient, LockTimeoutError, lockContext } from 'zookeeper-fair-lock';

const client = await LockClient.connect(process.env['ZOOKEEPER_CONNECT'] ?? '127.0.0.1:2181');
let left = 10; // stands for a table that only the holder of the lock uses

/** Acquires the lock by its path alone. In a request that already holds the lock it re-enters, and sends nothing. */
async function take(amount: number): Promise<void> {
  await client.withLock(
    '/locks/stock',
    async (hold) => {
      const before = left;
      await new Promise(setImmediate); // another request would run here if it could
      hold.assertValid();
      left = before - amount;
    },
    { timeoutMs: 30_000 },
  );
}

async function order(response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort()); // a request whose client has disconnected stops waiting
  // One object per request is fine: all objects of one client and path are one lock.
  const stock = new InterProcessMutex(client, '/locks/stock');
  const hold = await stock.acquire({ timeoutMs: 30_000, signal: gone.signal });
  try {
    if (left < 2) return void response.writeHead(409).end();
    await take(1);
    await take(1);
    response.writeHead(200).end();
  } finally {
    await hold.release();
  }
}

async function handle(_request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    await order(response);
  } catch (error) {
    if (!response.headersSent) response.writeHead(error instanceof LockTimeoutError ? 503 : 500).end();
  }
}

// A new context for each request. It ends when the promise of `handle` settles, so `run` must get that promise; the
// `void` stands outside.
const server = createServer((request, response) => void lockContext.run(() => handle(request, response)));
await once(server.listen(0, '127.0.0.1'), 'listening');

const { port } = server.address() as AddressInfo;
const answers = await Promise.all(
  Array.from({ length: 8 }, () => fetch(`http://127.0.0.1:${port}/order`, { method: 'POST' })),
);
const count = (status: number) => answers.filter((answer) => answer.status === status).length;
assert.deepEqual({ ordered: count(200), soldOut: count(409), left }, { ordered: 5, soldOut: 3, left: 0 });
console.log('5 orders, 3 refused, nothing left');

server.closeAllConnections();
server.close();
await client.close();
