import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { sharedZooKeeper } from '../../harness/hooks.ts';
import { testPath } from '../../harness/test-path.ts';
import { Consumer } from './support/consumer.ts';

const byImport = "import { LockClient, InterProcessMutex } from 'zookeeper-fair-lock';";
const byRequire = "const { LockClient, InterProcessMutex } = require('zookeeper-fair-lock');";
const program = `
async function main() {
  const [, , servers = '', path = ''] = process.argv;
  const client = await LockClient.connect(servers);
  const mutex = new InterProcessMutex(client, path);
  const token = await mutex.withLock(async (hold) => hold.fencingToken, { timeoutMs: 10_000 });
  await client.close();
  console.log(typeof token);
}
void main();
`;

describe(`an application on Node ${process.version}`, function () {
  this.timeout(60_000);
  let consumer: Consumer;
  let servers: string;

  before(async () => {
    ({ connectString: servers } = await sharedZooKeeper());
    consumer = await Consumer.install();
  });

  after(() => consumer[Symbol.dispose]());

  it('imports the package, locks, closes, and ends by itself', async () => {
    consumer.write('imported.mjs', `${byImport}${program}`);
    await locksAndEnds('imported.mjs');
  });

  it('requires the package, locks, closes, and ends by itself', async () => {
    consumer.write('required.cjs', `${byRequire}${program}`);
    await locksAndEnds('required.cjs');
  });

  it('is compiled from TypeScript, locks, closes, and ends by itself', async () => {
    consumer.write('typed.mts', `${byImport}${program}`);
    await consumer.compile(['typed.mts'], { module: 'nodenext' });
    await locksAndEnds('typed.mjs');
  });

  /** It prints one line when its client is closed; then nothing may keep it alive. */
  async function locksAndEnds(file: string): Promise<void> {
    // Node 22.12 warns that its require() of ES modules is young; later ones do not.
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', join(consumer.folder, file), servers, testPath('consumer')], {
      cwd: consumer.folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 20_000,
      killSignal: 'SIGKILL',
    });
    const complaints = text(child.stderr);
    const ended = once(child, 'exit');
    let closedAt = NaN;
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      closedAt = performance.now();
    }
    const [code] = (await ended) as [number | null];
    const lingeredMs = performance.now() - closedAt;
    expect({ code, lines, complaints: await complaints }).to.deep.equal({ code: 0, lines: ['bigint'], complaints: '' });
    expect(lingeredMs).to.be.below(1_000);
  }
});
