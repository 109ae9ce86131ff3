import '../../../../lab/servers/over-tls.ts';
import { InterProcessMutex, LockClient } from '../../../../src/index.ts';

/**
 * A program whose second acquire waits for its first one until it closes its client. It prints how many milliseconds it
 * then ran on.
 */
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
