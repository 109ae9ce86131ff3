import { once } from 'node:events';
import { LockClient } from '../../../../src/index.ts';

/**
 * A program that connects to each given server, closes, and has nothing left to do. With `connected` it connects,
 * prints `connected`, and waits for a line before it closes; with `connecting` it gives up before any server has
 * answered. It prints `closed` last.
 */
const [how, ...servers] = process.argv.slice(2);
const say = (word: string): void => void process.stdout.write(`${word}\n`);

if (how === 'connected') {
  const clients = await Promise.all(servers.map((server) => LockClient.connect(server, { sessionTimeoutMs: 30_000 })));
  say('connected');
  await once(process.stdin, 'data');
  process.stdin.destroy();
  await Promise.all(clients.map((client) => client.close({ timeoutMs: 200 })));
} else {
  const outcomes = await Promise.allSettled(
    servers.map((server) => LockClient.connect(server, { signal: AbortSignal.timeout(100) })),
  );
  if (outcomes.some(({ status }) => status === 'fulfilled')) throw new Error('The client connected');
}
say('closed');
