import { InterProcessMutex, LockClient } from '../../../src/index.ts';

/** A program that waits for itself until it closes its client. Says for how many milliseconds it has run on then. */
const [connectString = '', path = ''] = process.argv.slice(2);
const client = await LockClient.connect(connectString);
const mutex = new InterProcessMutex(client, path);
await mutex.acquire();
const waiting = mutex.acquire().catch(() => undefined);
await mutex.participants();
await client.close();
await waiting;
const closedAt = performance.now();
process.once('exit', () => process.stdout.write(String(performance.now() - closedAt)));
