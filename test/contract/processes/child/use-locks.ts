import '../../../../lab/servers/over-tls.ts';
import { InterProcessMutex, LockClient, lockContext } from '../../../../src/index.ts';
import { storagesCreated } from './count-storages.ts';

const [, , connectString = '', path = ''] = process.argv;
const counts: Record<string, number> = {};

await using client = await LockClient.connect(connectString);
const mutex = new InterProcessMutex(client, path);
counts['connected'] = storagesCreated();

const hold = await mutex.acquire();
const waiting = mutex.acquire({ timeoutMs: 60_000 });
await mutex.tryAcquire();
await mutex.participants();
const isOwned = mutex.isOwnedByCurrentContext;
await hold.release();
await waiting;
await mutex.release();
await mutex.release().catch(() => undefined);
const bound = lockContext.bind(() => isOwned);
counts['without a context'] = storagesCreated();

await mutex.withLock(() => undefined);
counts['after a withLock'] = storagesCreated();

await lockContext.run(() => mutex.withLock(() => undefined));
bound();
counts['after more contexts'] = storagesCreated();

process.stdout.write(JSON.stringify(counts));
