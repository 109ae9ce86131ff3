import { ensureDebianZooKeeper } from './debian-zookeeper.ts';
import { findZooKeeper, type FoundZooKeeper } from './find-zookeeper.ts';

type State =
  { at: 'unused' } | { at: 'starting'; found: Promise<FoundZooKeeper> } | { at: 'ready'; found: FoundZooKeeper };

let state: State = { at: 'unused' };

/** The ZooKeeper that the tests of a run share: started on the first call, stopped after the last test. */
export async function sharedZooKeeper(): Promise<FoundZooKeeper> {
  if (state.at === 'unused') state = { at: 'starting', found: findZooKeeper() };
  const found = await state.found;
  state = { at: 'ready', found };
  return found;
}

/** Its connect string, once `await sharedZooKeeper()` has settled in a before hook. */
export function sharedConnectString(): string {
  if (state.at !== 'ready') throw new Error('No shared ZooKeeper yet: call `await sharedZooKeeper()` in a before hook');
  return state.found.connectString;
}

/**
 * Installs the packages of a bare machine here, outside of the tests' timeouts. The tests that need a server report a
 * failure.
 */
export async function mochaGlobalSetup(): Promise<void> {
  await ensureDebianZooKeeper().catch(() => undefined);
}

export async function mochaGlobalTeardown(): Promise<void> {
  failIfKeptAlive();
  if (state.at === 'unused') return;
  const found = await Promise.resolve(state.found).catch(() => undefined);
  await found?.stop();
}

/**
 * A test that leaves a socket or a timer open would keep the run alive without a limit: the run fails with a message
 * instead.
 */
function failIfKeptAlive(): void {
  setTimeout(() => {
    console.error(`Something keeps the process alive: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, 15_000).unref();
}
