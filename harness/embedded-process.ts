import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FoundZooKeeper } from './find-zookeeper.ts';

const script = fileURLToPath(new URL('embedded-server.ts', import.meta.url));

/** Starts an embedded ZooKeeper in a process of its own, because a test may block its event loop. */
export async function startEmbeddedProcess(): Promise<FoundZooKeeper> {
  const child = fork(script, { execArgv: ['--import=tsx'], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const ended = once(child, 'exit').then(([code]: unknown[]) => {
    throw new Error(`The embedded ZooKeeper ended with exit code ${String(code)}`);
  });
  ended.catch(() => undefined);
  const [connectString] = (await Promise.race([once(child, 'message'), ended])) as [string];
  // The server ends with this process, so it does not need to keep this process alive.
  child.unref();
  child.channel?.unref();
  const stop = async () => {
    child.ref();
    child.disconnect();
    await ended.catch(() => undefined);
  };
  return { connectString, how: `an embedded server, process ${child.pid ?? '?'}`, stop };
}
