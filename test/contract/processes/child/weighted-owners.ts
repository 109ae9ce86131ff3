import '../../../../lab/servers/over-tls.ts';
// A process of the counting test with weights: its owners acquire one lock repeatedly, and increment a number in a file
// that only the lock protects.
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { InterProcessMutex, LockClient } from '../../../../src/index.ts';

const [connectString = '', path = '', file = '', owners = '0', times = '0'] = process.argv.slice(2);

const client = await LockClient.connect(connectString);
const mutex = new InterProcessMutex(client, path, { weights: { overtakesPerWeight: 2 } });
process.send?.('ready');
await new Promise((resolve) => process.once('message', resolve));

await Promise.all(
  Array.from({ length: Number(owners) }, async (_, index) => {
    for (let round = 0; round < Number(times); round += 1) {
      await mutex.withLock(
        async (hold) => {
          const count = Number(readFileSync(file, 'utf8'));
          await Promise.resolve();
          writeFileSync(file, String(count + 1));
          appendFileSync(
            `${file}.grants`,
            `${String(hold.fencingToken)} ${hold.path.slice(-10)} ${(index % 10) + 1}\n`,
          );
        },
        { weight: (index % 10) + 1 },
      );
    }
  }),
);
await client.close();
process.disconnect();
