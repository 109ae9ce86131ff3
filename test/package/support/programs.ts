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

const embedded = `
async function embedded() {
  const zk = await EmbeddedZooKeeper.start();
  const client = await LockClient.connect(zk.connectString);
  console.log(await client.withLock('/locks/report', () => 'locked'));
  await client.close();
  await zk.stop();
}
void embedded();
`;

/** Locks on a ZooKeeper in its own process: prints `locked`. */
export const embeddedByImport = `import { EmbeddedZooKeeper } from '@zookeeper-fair-lock/testing'; import { LockClient } from 'zookeeper-fair-lock';${embedded}`;
export const embeddedByRequire = `const { EmbeddedZooKeeper } = require('@zookeeper-fair-lock/testing'); const { LockClient } = require('zookeeper-fair-lock');${embedded}`;

/**
 * Asks for the native package `kerberos`, which is not installed here, and authenticates by a mechanism without a ticket:
 * prints `refused`.
 */
export const loginByKerberos = `
import { kerberos } from '@zookeeper-fair-lock/kerberos';
import { LockClient } from 'zookeeper-fair-lock';
const sasl = await kerberos().catch((error) => {
  if (error instanceof TypeError && error.message.includes('npm install kerberos')) return 'missing';
  throw error;
});
if (sasl !== 'missing') throw new Error('The package kerberos is there');
// A mechanism of another file than the lock's own is taken as it is.
const asked = await LockClient.connect(process.argv[2], {
  sasl: { mechanism: 'GSSAPI', handshake: (peer) => ({ begin: () => Promise.reject(peer.refusal('no-ticket', 'no ticket')), next: () => undefined }) },
  connectionTimeoutMs: 5_000,
}).catch((error) => error.code);
if (asked !== 'ERR_LOCK_AUTH_FAILED') throw new Error('got ' + asked);
console.log('refused');
`;

/** Stops the instrumentation of a lock again, without an SDK: prints `stopped`. */
export const instrumentLock = `
import { instrument } from '@zookeeper-fair-lock/opentelemetry';
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

/**
 * Loads two installed copies, and a third by a reload. Each copy locks by a client of its own, and the copies exclude
 * each other. Each copy refuses the client and the locks of another: prints \`excluded, refused 6 of 6, reloaded\`.
 */
export const twoCopies = `
const [, , servers = '', path = ''] = process.argv;
const one = require('zookeeper-fair-lock');
const two = require('./plugin/index.cjs');
const { version } = require('zookeeper-fair-lock/package.json');
async function main() {
  const [first, second] = await Promise.all([one.LockClient.connect(servers), two.LockClient.connect(servers)]);
  const inner = await first.withLock(path, () =>
    second.withLock(path, () => 'entered', { timeoutMs: 200 }).catch((error) =>
      error instanceof one.LockError && error instanceof two.LockError && error.code === 'ERR_LOCK_TIMEOUT'
        ? 'excluded' : error));
  const mutexOf = ({ InterProcessMutex }, client) => new InterProcessMutex(client, path);
  const uses = [
    () => mutexOf(two, first),
    () => mutexOf(one, second),
    () => new two.InterProcessSemaphore(first, path, { maxLeases: 2 }),
    () => new two.LeaderElection(first, path),
    () => two.watchQueue(first, path),
    () => new two.InterProcessMultiLock([mutexOf(two, second), mutexOf(one, first)]),
  ];
  const refused = uses.filter((use) => refusal(use).includes(\`another copy of zookeeper-fair-lock (version \${version}, \`) && refusal(use).includes('npm dedupe'));
  for (const file of Object.keys(require.cache)) delete require.cache[file];
  const reloaded = refusal(() => mutexOf(require('zookeeper-fair-lock'), first)).includes('hot reload') ? 'reloaded' : '';
  await Promise.all([first.close(), second.close()]);
  console.log([inner, \`refused \${refused.length} of \${uses.length}\`, reloaded].join(', '));
}
function refusal(use) {
  try { use(); } catch (error) { return error instanceof TypeError ? error.message : ''; }
  return '';
}
void main();
`;

/** Prints the exported functions and classes that have another name than their export. */
export const namesOfClasses = `
const functions = Object.entries(require('zookeeper-fair-lock')).filter(([, value]) => typeof value === 'function');
const others = functions.filter(([name, value]) => value.name !== name).map(([, value]) => value.name);
console.log(functions.length > 20 ? 'classes, and' : 'few, and', JSON.stringify(others), 'with another name');
`;
