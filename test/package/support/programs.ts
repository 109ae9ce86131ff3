/** Programs of users, each in one module system. Each gets the servers and a path, and prints one line. */
const arguments_ = "const [, , servers = '', path = ''] = process.argv;";

const locks = `
async function main() {
  ${arguments_}
  const client = await LockClient.connect(servers);
  const mutex = new InterProcessMutex(client, path);
  const token = await mutex.withLock(async (hold) => hold.fencingToken, { timeoutMs: 10_000 });
  await client.close();
  console.log(typeof token);
}
void main();
`;

/** Acquires a lock and releases it: prints `bigint`. */
export const lockByImport = `import { LockClient, InterProcessMutex } from 'zookeeper-fair-lock';${locks}`;
export const lockByRequire = `const { LockClient, InterProcessMutex } = require('zookeeper-fair-lock');${locks}`;

/**
 * Acquires a lock through the required package, in a context of the imported package, and re-enters it. Compares all
 * exports of both: prints `isReentrant: true, different: `.
 */
export const importAndRequire = `
import { createRequire } from 'node:module';
import * as imported from 'zookeeper-fair-lock';
const required = createRequire(import.meta.url)('zookeeper-fair-lock');
${arguments_}
const client = await imported.LockClient.connect(servers);
const mutex = new required.InterProcessMutex(client, path);
const isReentrant = await imported.lockContext.run(async () => {
  const outer = await mutex.acquire();
  const inner = await mutex.acquire({ timeoutMs: 5_000 });
  await outer.release();
  await inner.release();
  return inner.isReentrant;
});
await client.close();
const different = Object.keys(required).filter((name) => imported[name] === undefined || imported[name] !== required[name]);
console.log(\`isReentrant: \${isReentrant}, different: \${different}\`);
`;

/**
 * Listens to a mutex that a request acquires twice. Prints \`[false,false]\` because the listener neither owns the lock
 * nor belongs to the request.
 */
export const listen = `
import { AsyncLocalStorage } from 'node:async_hooks';
import { LockClient, InterProcessMutex } from 'zookeeper-fair-lock';
${arguments_}
const client = await LockClient.connect(servers);
const mutex = new InterProcessMutex(client, path);
const request = new AsyncLocalStorage();
const heard = [];
mutex.on('acquired', () => heard.push(request.getStore() ?? mutex.isOwnedByCurrentContext));
await request.run('a request', () => mutex.withLock(() => mutex.withLock(() => {})));
await client.close();
console.log(JSON.stringify(heard));
`;

/** Stops the instrumentation of a lock again, without an SDK: prints `stopped`. */
export const instrumentLock = `
import { instrument } from 'zookeeper-fair-lock/opentelemetry';
import { LockClient, type AcquireMessage } from 'zookeeper-fair-lock';
import { subscribe } from 'node:diagnostics_channel';
const [, , servers = '', path = ''] = process.argv;
const stop = instrument({ lockName: (name) => name });
subscribe('tracing:zookeeper-fair-lock:acquire:start', (message) => void (message as AcquireMessage).durationMs);
const client = await LockClient.connect(servers);
await client.withLock(path, () => undefined);
await client.close();
stop();
console.log('stopped');
`;
