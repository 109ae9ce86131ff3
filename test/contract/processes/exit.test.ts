import { expect } from 'chai';
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { RunningTime } from '../../../lab/running-time.ts';
import { startSilentServer } from '../../../lab/servers/silent-server.ts';
import { startProxy } from '../../../lab/proxy/zk-proxy.ts';
import { startServer } from '../../../lab/servers/zookeeper-server.ts';

const program = fileURLToPath(new URL('child/connect-and-close.ts', import.meta.url));

describe('a program exits by itself', () => {
  let child: ChildProcessWithoutNullStreams | undefined;

  afterEach(() => void child?.kill('SIGKILL'));

  const start = (how: 'connected' | 'connecting', ...connectStrings: string[]): ChildProcessWithoutNullStreams => {
    child = spawn(process.execPath, ['--import', 'tsx', program, how, ...connectStrings]);
    child.stderr.pipe(process.stderr);
    return child;
  };

  it('when it has closed its clients: of a healthy, of a silent and of a missing server', async () => {
    await using server = await startServer();
    await using silent = await startProxy(server.port);
    await using away = await startProxy(server.port);
    const child = start('connected', server.connectString, silent.connectString, away.connectString);
    await says(child, 'connected');
    silent.silence();
    await away.refuse();
    away.cut();
    child.stdin.end('close\n');
    await exitsAfterItClosed(child);
  });

  it('when it gave up connecting to a silent and to a missing server', async () => {
    await using silent = await startSilentServer();
    await using away = await startProxy(silent.port);
    await away.refuse();
    await exitsAfterItClosed(start('connecting', silent.connectString, away.connectString));
  });
});

async function exitsAfterItClosed(child: ChildProcessWithoutNullStreams): Promise<void> {
  await says(child, 'closed');
  using sinceClosed = new RunningTime();
  if (child.exitCode === null) await once(child, 'exit');
  expect(child.exitCode).to.equal(0);
  expect(sinceClosed.ms).to.be.below(1_000);
}

/** Reads until the word arrives. */
async function says(child: ChildProcessWithoutNullStreams, word: string): Promise<void> {
  let heard = '';
  for await (const text of child.stdout.iterator({ destroyOnReturn: false })) {
    heard += String(text);
    if (heard.includes(word)) return;
  }
  throw new Error(`The program ended without printing ${word}`);
}
