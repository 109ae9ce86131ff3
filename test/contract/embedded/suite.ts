// npm run suite -- embedded-suite [mocha's arguments, or test files]: runs the library's tests that need no server of
// their own, and those with Java Curator and kazoo, on an embedded ZooKeeper
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { sharedServerTests } from '../../../lab/servers/docker/shared-server-tests.ts';
import { EmbeddedZooKeeper } from '../../../packages/testing/src/index.ts';

const args = process.argv.slice(2);
const files = args.some((argument) => argument.endsWith('.ts'))
  ? []
  : [...sharedServerTests(), 'test/interop/**/*.test.ts'];

// The laboratory configures the real server with the same times.
await using zk = await EmbeddedZooKeeper.start({ tickTimeMs: 500, maxSessionTimeoutMs: 60_000 });
// Runs in a process of its own, because a test that blocks its event loop must not block the server.
const tests = spawn(process.execPath, ['scripts/test.mjs', ...files, ...args], {
  stdio: 'inherit',
  env: { ...process.env, TEST_WORLD: 'real', ZOOKEEPER_CONNECT: zk.connectString },
});
const [code] = (await once(tests, 'exit')) as [number | null];
process.exitCode = code ?? 1;
